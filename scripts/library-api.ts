import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'

/** The part of the syntax tree that is read here. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

interface Source {
  readonly text: string
  readonly body: readonly Node[]
  readonly comments: readonly { readonly value: string; readonly start: number; readonly end: number }[]
}

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = new Map<string, Source>()

function read(file: string): Source {
  let source = sources.get(file)
  if (source === undefined) {
    const text = readFileSync(join(root, file), 'utf8')
    const { program, comments } = parseSync(file, text)
    source = { text, body: program.body as unknown as Node[], comments }
    sources.set(file, source)
  }
  return source
}

/** The declaration of an exported name, in the file that has it; undefined if it comes from another package. */
function find(file: string, name: string): { file: string; node: Node } | undefined {
  // The package loads these on demand; their types are those of underneath.ts.
  if (file === 'src/on-demand.ts') return find('src/underneath.ts', name)
  for (const node of read(file).body) {
    if (!node.type.startsWith('Export')) continue
    const from = (node.source as { value: string } | null | undefined)?.value
    const target = from?.startsWith('.') ? join(dirname(file), from) : undefined
    const declared = node.declaration as Node | null | undefined
    if (declared && namesOf(declared).includes(name)) return { file, node }
    if (node.type === 'ExportAllDeclaration' && target !== undefined) {
      const found = find(target, name)
      if (found !== undefined) return found
    }
    for (const { local, exported } of (node.specifiers ?? []) as { local: Node; exported: Node }[]) {
      if (exported.name === name && target !== undefined) return find(target, String(local.name))
    }
  }
  return undefined
}

function namesOf(node: Node): string[] {
  if (node.type !== 'VariableDeclaration') return [String((node.id as Node).name)]
  return (node.declarations as { id: Node }[]).map(({ id }) => String(id.name))
}

/** The names that a file exports, without those of other packages. */
function exportsOf(file: string): string[] {
  const names = read(file).body.flatMap((node) => {
    if (node.type === 'ExportAllDeclaration') {
      return exportsOf(join(dirname(file), (node.source as unknown as { value: string }).value))
    }
    if (node.type !== 'ExportNamedDeclaration') return []
    if (node.declaration) return namesOf(node.declaration as Node)
    return (node.specifiers as { exported: Node }[]).map(({ exported }) => String(exported.name))
  })
  return [...new Set(names)]
}

/** The text of a comment right before a position. */
function commentBefore({ text, comments }: Source, start: number): string {
  const comment = comments.find(({ end }) => end <= start && text.slice(end, start).trim() === '')
  if (comment === undefined || !comment.value.startsWith('*')) return ''
  return comment.value
    .slice(1)
    .replace(/(?:\s*\n\s*\*)+\s*/g, ' ')
    .trim()
}

/** The declaration without function bodies, initial values and private members. */
function signature(source: Source, node: Node): string {
  const declared = node.declaration as Node
  const cut = (from: number, to: number) => withoutSuppressions(source.text.slice(from, to)).trimEnd()
  if (declared.type === 'ClassDeclaration') {
    const body = declared.body as Node
    const members = (body.body as Node[]).filter(isPublic).map((member) => {
      const comment = commentBefore(source, member.start)
      const value = member.value as Node | null
      const end = member.type === 'MethodDefinition' ? (value?.body as Node | null)?.start : value?.start
      const text = cut(member.start, end ?? member.end).replace(/\s*=$|;$/, '')
      return `${comment && `  /** ${comment} */\n`}  ${text.replace(/^(override |async |\*)+/, '')}`
    })
    return [`${cut(declared.start, body.start)} {`, ...members, '}'].join('\n')
  }
  if (declared.type === 'FunctionDeclaration') {
    return cut(declared.start, (declared.body as Node).start).replace(/^async /, '')
  }
  if (declared.type !== 'VariableDeclaration') return cut(declared.start, declared.end)
  const [{ id, init }] = declared.declarations as [{ id: Node; init: Node | null }]
  if (init?.type === 'ArrowFunctionExpression' && !id.typeAnnotation) {
    const head = cut(init.start, (init.body as Node).start).replace(/^async /, '')
    return `function ${String(id.name)}${head.replace(/\s*=>$/, '')}`
  }
  return `declare const ${cut(id.start, id.end)}`
}

/** Comments for the linter say nothing to readers. */
const withoutSuppressions = (text: string): string =>
  text.replace(/^ *\/\/ biome-ignore .*\n/gm, '').replace(/\/\/ biome-ignore .*\n */g, '')

const isPublic = ({ type, accessibility, key }: Node): boolean =>
  type !== 'StaticBlock' && accessibility !== 'private' && (key as Node | undefined)?.type !== 'PrivateIdentifier'

/** docs/reference/library-api.md: every export of every entry point, from the types in the sources. */
export function libraryApi(): string {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const done = new Map<string, string>()
  const parts = [
    '# Library API',
    'Every export of the package with its type, generated from the sources by `npm run docs:api`. The guide is [the library](../guides/library.md).',
  ]
  for (const [subpath, entry] of Object.entries<{ 'toolyard-source'?: string }>(exports)) {
    const file = entry['toolyard-source']
    if (file === undefined) continue
    const from = `toolyard${subpath.slice(1)}`
    parts.push(`## ${from}`)
    const repeated: string[] = []
    for (const name of exportsOf(file.slice(2)).sort((a, b) => a.localeCompare(b, 'en'))) {
      const found = find(file.slice(2), name)
      if (found === undefined) continue
      if (done.has(name)) repeated.push(`\`${name}\``)
      else {
        done.set(name, from)
        const source = read(found.file)
        const comment = commentBefore(source, found.node.start)
        parts.push(`### ${name}`, ...(comment ? [comment] : []), `\`\`\`ts\n${signature(source, found.node)}\n\`\`\``)
      }
    }
    if (repeated.length > 0) parts.push(`Also exports, as above: ${repeated.join(', ')}.`)
  }
  return `${parts.join('\n\n')}\n`
}

if (import.meta.main) writeFileSync(join(root, 'docs/reference/library-api.md'), libraryApi())
