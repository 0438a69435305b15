import { globSync, readFileSync, writeFileSync } from 'node:fs'
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
function signature(file: string, source: Source, node: Node): string {
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
  if (declared.type !== 'VariableDeclaration') return withMembers(file, cut(declared.start, declared.end))
  const [{ id, init }] = declared.declarations as [{ id: Node; init: Node | null }]
  if (init?.type === 'ArrowFunctionExpression' && !id.typeAnnotation) {
    const head = cut(init.start, (init.body as Node).start).replace(/^async /, '')
    return `function ${String(id.name)}${head.replace(/\s*=>$/, '')}`
  }
  return `declare const ${cut(id.start, id.end)}`
}

interface Schema {
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
}

/** The schemas that interfaces extend, by their names in the sources, and the names of these interfaces. */
const schemas = new Map<string, Schema>()
const interfaces = new Map<Schema, string>()
const DESCRIBED = /interface (\w+)\s+extends (?:\w+<)?Described<typeof (\w+)>/g
for (const file of globSync('src/**/*.ts', { cwd: root })) {
  for (const [, name, schema] of readFileSync(join(root, file), 'utf8').matchAll(DESCRIBED)) {
    const exported: Readonly<Record<string, Schema>> = await import(join(root, file))
    const found = exported[schema as string]
    if (found === undefined) continue
    schemas.set(`${file} ${schema}`, found)
    interfaces.set(found, name as string)
  }
}

/** The type that a schema describes, as TypeScript. */
function typeText(schema: Schema, indent: string): string {
  const name = interfaces.get(schema)
  if (name !== undefined) return name
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one).replaceAll('"', "'")).join(' | ')
  const types = [schema.type ?? []].flat()
  if (types.length === 0) return 'unknown'
  return types.map((type) => typeOf(type, schema, indent)).join(' | ')
}

function typeOf(type: string, { items, properties, ...schema }: Schema, indent: string): string {
  if (type === 'integer') return 'number'
  if (type === 'array') {
    const item = items === undefined ? 'unknown' : typeText(items, indent)
    return `readonly ${/[ |]/.test(item) ? `(${item})` : item}[]`
  }
  if (type !== 'object') return type
  if (properties !== undefined) return `{\n${members({ ...schema, properties }, `${indent}  `)}\n${indent}}`
  const others = schema.additionalProperties
  return `Readonly<Record<string, ${typeof others === 'object' ? typeText(others, indent) : 'unknown'}>>`
}

/** The members that a schema describes. `own` has those that the interface declares itself. */
function members({ properties = {}, required = [] }: Schema, indent: string, own = new Map<string, string>()): string {
  return Object.entries(properties)
    .map(([key, schema]) => {
      const comment = schema.description === undefined ? '' : `${indent}/** ${schema.description} */\n`
      const type = own.get(key) ?? `${required.includes(key) ? '' : '?'}: ${typeText(schema, indent)}`
      return `${comment}${indent}readonly ${key}${type}`
    })
    .join('\n')
}

const DERIVED = /^interface (\w+) extends (?:Described<typeof (\w+)>|Omit<(\w+), '(\w+)'>) \{/

/** An interface with the members that it has from a schema. */
function withMembers(file: string, text: string): string {
  const [head, name, schema, based, left = ''] = DERIVED.exec(text) ?? []
  if (head === undefined) return text
  const base = [...interfaces].find(([, one]) => one === based)?.[0] ?? schemas.get(`${file} ${schema}`)
  if (base === undefined) return text
  const { [left]: _, ...properties } = base.properties ?? {}
  let rest = text.slice(head.length, -1)
  const own = new Map<string, string>()
  for (const [line, key, type] of rest.matchAll(/^ {2}readonly (\w+)(\??: .*)\n/gm)) {
    if (!Object.hasOwn(properties, key as string)) continue
    own.set(key as string, type as string)
    rest = rest.replace(line, '')
  }
  return `interface ${name} {\n${members({ ...base, properties }, '  ', own)}${rest || '\n'}}`
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
        parts.push(
          `### ${name}`,
          ...(comment ? [comment] : []),
          `\`\`\`ts\n${signature(found.file, source, found.node)}\n\`\`\``,
        )
      }
    }
    if (repeated.length > 0) parts.push(`Also exports, as above: ${repeated.join(', ')}.`)
  }
  return `${parts.join('\n\n')}\n`
}

if (import.meta.main) writeFileSync(join(root, 'docs/reference/library-api.md'), libraryApi())
