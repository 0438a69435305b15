import { isDeepStrictEqual } from 'node:util'
import { createTwoFilesPatch } from 'diff'
import { applyEdits, findNodeAtLocation, type JSONPath, type Node, parseTree, visit } from 'jsonc-parser'
import { redact } from '../core/records/redact.ts'
import { ConfigError } from './check-config.ts'

/** Adds a value at a path, which ends in a new key, or in -1 for the end of an array. Missing parents are created. */
export interface ConfigEdit {
  readonly path: readonly (string | number)[]
  readonly value: unknown
}

const BOM = '\uFEFF'

/** Adds to the text of a configuration, and keeps the formatting of the rest. `name` is that of the file in errors. */
export function editConfig(text: string, edits: readonly ConfigEdit[], name: string): string {
  const mark = text.startsWith(BOM) ? BOM : ''
  let edited = text.slice(mark.length)
  for (const { path, value } of edits) {
    const parents = path.slice(0, -1)
    const before = valueAt(JSON.parse(edited), parents)
    edited = added(edited, path, value)
    const after = valueAt(JSON.parse(edited), parents)
    // JSON.parse uses the last of two equal keys, and the edit changes the first.
    if (!isDeepStrictEqual(after, withEdit(before, path.at(-1) as string | number, value))) {
      throw new ConfigError(`${name} has the key '${path[0]}' or one below it twice: remove one of them.`)
    }
  }
  return mark + edited
}

const MAX_LINE = 100

/** A formatter would change the lines around the value, too. */
function added(text: string, path: readonly (string | number)[], value: unknown): string {
  const root = parseTree(text) as Node
  let depth = path.length - 1
  let parent = findNodeAtLocation(root, path.slice(0, depth) as JSONPath)
  while (parent === undefined) parent = findNodeAtLocation(root, path.slice(0, --depth) as JSONPath)
  const [step, ...missing] = path.slice(depth)
  const inner = missing.reduceRight((item, key) => (typeof key === 'number' ? [item] : { [key]: item }), value)
  const { children = [], offset, length } = parent
  const [first, last] = [children[0], children.at(-1)]
  const end = offset + length - 1
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const unit = /^([ \t]+)"/m.exec(text)?.[1] ?? '  '
  const line = text.slice(text.lastIndexOf('\n', offset) + 1).split('\n', 1)[0] as string
  const outside = /^[ \t]*/.exec(line)?.[0] as string
  const isOpen = first !== undefined && text.slice(offset, first.offset).includes('\n')
  const inside = isOpen ? (/[ \t]*$/.exec(text.slice(0, first.offset))?.[0] ?? '') : outside + unit
  const key = typeof step === 'string' ? `${JSON.stringify(step)}: ` : ''
  const entry = inside + key + written(inner, { inside, unit, eol })
  const put = (from: number, to: number, content: string) => ({ offset: from, length: to - from, content })
  if (first === undefined || last === undefined) {
    return applyEdits(text, [put(offset + 1, end, `${eol}${entry}${eol}${outside}`)])
  }
  const lastEnd = last.offset + last.length
  if (isOpen) return applyEdits(text, [put(lastEnd, lastEnd, `,${eol}${entry}`)])
  const short = `, ${key}${inOneLine(inner)}`
  const isShort = !text.trimEnd().includes('\n') || line.length + short.length <= MAX_LINE
  if (isShort) return applyEdits(text, [put(lastEnd, lastEnd, short)])
  // What was on one line stays there.
  return applyEdits(text, [
    put(offset + 1, first.offset, `${eol}${inside}`),
    put(lastEnd, end, `,${eol}${entry}${eol}${outside}`),
  ])
}

interface Layout {
  readonly inside: string
  readonly unit: string
  readonly eol: string
}

/** A value as the text of a file. */
export const configText = (value: unknown): string => `${written(value, { inside: '', unit: '  ', eol: '\n' })}\n`

/** JSON with one line for each part that fits on it. */
function written(value: unknown, layout: Layout): string {
  const { inside, unit, eol } = layout
  const short = inOneLine(value)
  if (inside.length + short.length <= MAX_LINE || typeof value !== 'object' || value === null) return short
  const deeper = { ...layout, inside: inside + unit }
  const items = Array.isArray(value)
    ? value.map((item) => written(item, deeper))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${written(item, deeper)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}${eol}${items.map((item) => `${deeper.inside}${item}`).join(`,${eol}`)}${eol}${inside}${close}`
}

function inOneLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(inOneLine).join(', ')}]`
  const items = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${inOneLine(item)}`)
  return items.length === 0 ? '{}' : `{ ${items.join(', ')} }`
}

/** The value at a path, of its own keys only. */
export function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((at, step) => (Object.hasOwn(Object(at), step) ? Object(at)[step] : undefined), value)
}

function withEdit(parent: unknown, step: string | number, value: unknown): unknown {
  if (typeof step === 'number') return [...((parent as unknown[] | undefined) ?? []), value]
  return { ...(parent as object | undefined), [step]: value }
}

const REDACTED = '[redacted]'

/** The unified diff of two texts of a configuration file, without the secrets in them. */
export function configDiff(before: string, after: string, name: string): string {
  const patch = createTwoFilesPatch(name, name, withoutSecrets(before), withoutSecrets(after), '', '')
  // Without the index, which repeats the name.
  return patch.slice(patch.indexOf('---'))
}

/** Replaces texts that look like secrets: the file may contain some that its operator wrote there. */
function withoutSecrets(text: string): string {
  const found: { offset: number; length: number; content: string }[] = []
  visit(text, {
    onLiteralValue(value, offset, length, _line, _character, path) {
      const key = String(path().findLast((step) => typeof step === 'string') ?? '')
      if (typeof value === 'string' && isSecretText(key, value)) {
        found.push({ offset, length, content: JSON.stringify(REDACTED) })
      }
    },
  })
  return applyEdits(text, found)
}

/** Whether a text under a key is a secret, and not a reference to one. */
export function isSecretText(key: string, value: string): boolean {
  if (value === '' || /^(?:[A-Za-z]+ )?\$\{[^{}]+\}$/.test(value)) return false
  const short = value.slice(0, 400)
  return JSON.stringify(redact({ [key]: short })) !== JSON.stringify({ [key]: short })
}
