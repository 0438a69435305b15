import { type DiffEntry, diff, isDeepStrictEqual } from 'node:util'
import { isDeep, MAX_JSON_DEPTH } from '../core/json/json-depth.ts'
import { redact } from '../core/records/redact.ts'
import { ConfigError } from './check-config.ts'

/**
 * Sets the value at a path, which ends in a key, or in -1 for the end of an array. Missing parents are created. Without a
 * value, removes what is at the path, which ends in a key or an index.
 */
export interface ConfigEdit {
  readonly path: readonly (string | number)[]
  readonly value?: unknown
}

const BOM = '\uFEFF'

/** Edits the text of a configuration, and keeps the formatting of the rest. `name` is that of the file in errors. */
export function editConfig(text: string, edits: readonly ConfigEdit[], name: string): string {
  if (isDeep(text, MAX_JSON_DEPTH)) {
    throw new ConfigError(`${name} is nested deeper than ${MAX_JSON_DEPTH} levels: flatten it before you change it.`)
  }
  const mark = text.startsWith(BOM) ? BOM : ''
  let edited = text.slice(mark.length)
  for (const { path, values } of grouped(edits)) {
    const parents = path.slice(0, -1)
    const before = valueAt(JSON.parse(edited), parents)
    const isRemoval = values[0] === undefined
    edited = isRemoval ? removed(edited, path) : added(edited, path, values)
    const after = valueAt(JSON.parse(edited), parents)
    const step = path.at(-1) as string | number
    // JSON.parse uses the last of two equal keys, and the edit changes the first.
    if (!isDeepStrictEqual(after, isRemoval ? without(before, step) : withEdit(before, step, values))) {
      throw new ConfigError(`${name} has the key '${path[0]}' or one below it twice: remove one of them.`)
    }
  }
  return mark + edited
}

interface Group {
  readonly path: ConfigEdit['path']
  readonly values: unknown[]
}

/** Values for the end of the same array are added together: each step reads the whole text. */
function grouped(edits: readonly ConfigEdit[]): Group[] {
  const groups: Group[] = []
  for (const { path, value } of edits) {
    const last = groups.at(-1)
    if (last !== undefined && path.at(-1) === -1 && isDeepStrictEqual(last.path, path)) last.values.push(value)
    else groups.push({ path, values: [value] })
  }
  return groups
}

const MAX_LINE = 100

/** A formatter would change the lines around the value, too. */
function added(text: string, path: ConfigEdit['path'], values: readonly unknown[]): string {
  let depth = 0
  let parent = placesOf(text)
  for (const step of path.slice(0, -1)) {
    const next = parent.entries.find(({ key }, index) => (typeof step === 'number' ? index === step : key === step))
    if (next === undefined) break
    parent = next.value
    depth++
  }
  const [step, ...missing] = path.slice(depth)
  const known = missing.length === 0 && typeof step === 'string' && parent.entries.find(({ key }) => key === step)
  if (known) return text.slice(0, known.value.start) + inOneLine(values[0]) + text.slice(known.value.end)
  // An array that is created gets all values.
  const innermost = missing.at(-1) === -1 ? values : values[0]
  const keys = missing.filter((key) => typeof key === 'string')
  const inner = missing.length === 0 ? values : [keys.reduceRight((item, key) => ({ [key]: item }), innermost)]
  const { entries, start } = parent
  const [first, last] = [entries[0], entries.at(-1)]
  const end = parent.end - 1
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const unit = /^([ \t]+)"/m.exec(text)?.[1] ?? '  '
  const line = text.slice(text.lastIndexOf('\n', start) + 1).split('\n', 1)[0] as string
  const outside = /^[ \t]*/.exec(line)?.[0] as string
  const isOpen = first !== undefined && text.slice(start, first.start).includes('\n')
  const inside = isOpen ? text.slice(text.lastIndexOf('\n', first.start) + 1, first.start) : outside + unit
  const key = typeof step === 'string' ? `${JSON.stringify(step)}: ` : ''
  const entry = inner.map((item) => inside + key + written(item, { inside, unit, eol })).join(`,${eol}`)
  if (first === undefined || last === undefined) {
    return `${text.slice(0, start + 1)}${eol}${entry}${eol}${outside}${text.slice(end)}`
  }
  const before = text.slice(0, last.value.end)
  const after = text.slice(last.value.end)
  if (isOpen) return `${before},${eol}${entry}${after}`
  const short = inner.map((item) => `, ${key}${inOneLine(item)}`).join('')
  const isShort = !text.trimEnd().includes('\n') || line.length + short.length <= MAX_LINE
  if (isShort) return before + short + after
  // What was on one line stays there.
  const same = text.slice(first.start, last.value.end)
  return `${text.slice(0, start + 1)}${eol}${inside}${same},${eol}${entry}${eol}${outside}${text.slice(end)}`
}

/** Removes an entry with its comma, and leaves the lines of the others. */
function removed(text: string, path: ConfigEdit['path']): string {
  let parent: Place | undefined = placesOf(text)
  const at = (place: Place | undefined, step: string | number | undefined): number =>
    place?.entries.findIndex(({ key }, index) => (typeof step === 'number' ? index === step : key === step)) ?? -1
  for (const step of path.slice(0, -1)) parent = parent?.entries[at(parent, step)]?.value
  const index = at(parent, path.at(-1))
  if (parent === undefined || index === -1) return text
  const { entries } = parent
  const entry = entries[index] as Entry
  const [before, next] = [entries[index - 1], entries[index + 1]]
  if (next !== undefined) return text.slice(0, entry.start) + text.slice(next.start)
  if (before !== undefined) return text.slice(0, before.value.end) + text.slice(entry.value.end)
  return text.slice(0, parent.start + 1) + text.slice(parent.end - 1)
}

/** Where a value stands in a text. */
interface Place {
  readonly start: number
  end: number
  readonly entries: Entry[]
  /** Of a string. */
  readonly text?: string
}

interface Entry {
  readonly key?: string
  /** Of its key, or of an item. */
  readonly start: number
  readonly value: Place
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]|[^\s{}[\],:"]+/g

/** The places of all values in a text that JSON.parse can read. Keys that repeat are all there. */
function placesOf(text: string): Place {
  const open: Place[] = []
  let root: Place | undefined
  let key: { readonly key: string; readonly start: number } | undefined
  const add = (value: Place): void => {
    open.at(-1)?.entries.push({ start: value.start, ...key, value })
    root ??= value
    key = undefined
  }
  for (const { 0: token, 1: quoted, 2: colon, index: start } of text.matchAll(TOKEN)) {
    const value: Place = { start, end: start + token.length, entries: [], ...(quoted && { text: JSON.parse(quoted) }) }
    if (colon !== undefined) key = { key: value.text as string, start }
    else if (token === '}' || token === ']') (open.pop() as Place).end = value.end
    else {
      add(value)
      if (token === '{' || token === '[') open.push(value)
    }
  }
  return root as Place
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

function withEdit(parent: unknown, step: string | number, values: readonly unknown[]): unknown {
  if (typeof step === 'number') return [...((parent as unknown[] | undefined) ?? []), ...values]
  return { ...(parent as object | undefined), [step]: values[0] }
}

function without(parent: unknown, step: string | number): unknown {
  if (Array.isArray(parent)) return parent.filter((_, index) => index !== step)
  return Object.fromEntries(Object.entries(Object(parent)).filter(([key]) => key !== step))
}

const REDACTED = '[redacted]'

const CONTEXT_LINES = 4

/** The unified diff of two texts of a configuration file, without the secrets in them. */
export function configDiff(before: string, after: string, name: string): string {
  if (before === after) return ''
  const lines = removedFirst(changes(linesOf(withoutSecrets(before)), linesOf(withoutSecrets(after))))
  const near = new Set<number>()
  for (const [index, [op]] of lines.entries()) {
    if (op !== 0) for (let at = index - CONTEXT_LINES; at <= index + CONTEXT_LINES; at++) near.add(at)
  }
  const hunks: { body: string[]; from: number; to: number; removed: number; added: number }[] = []
  let [from, to] = [1, 1]
  for (const [index, [op, line]] of lines.entries()) {
    if (near.has(index)) {
      if (index === 0 || !near.has(index - 1)) hunks.push({ body: [], from, to, removed: 0, added: 0 })
      const hunk = hunks.at(-1) as (typeof hunks)[number]
      hunk.body.push(`${op === 0 ? ' ' : op === 1 ? '+' : '-'}${line}`)
      if (op !== 1) hunk.removed++
      if (op !== -1) hunk.added++
    }
    if (op !== 1) from++
    if (op !== -1) to++
  }
  const texts = hunks.map(
    (hunk) => `@@ -${hunk.from},${hunk.removed} +${hunk.to},${hunk.added} @@\n${hunk.body.join('\n')}\n`,
  )
  return `--- ${name}\n+++ ${name}\n${texts.join('')}`
}

/** The time and the memory of `diff` grow with the square of the changed lines. */
const MAX_COMPARED = 1_000

/** The lines of both texts in order: 1 is added, -1 is removed. */
function changes(before: readonly string[], after: readonly string[]): DiffEntry[] {
  const shorter = Math.min(before.length, after.length)
  let head = 0
  while (head < shorter && before[head] === after[head]) head++
  let tail = 0
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++
  const removed = before.slice(head, before.length - tail)
  const added = after.slice(head, after.length - tail)
  const same = (line: string): DiffEntry => [0, line]
  const count = removed.length + added.length
  // `diff` refuses two empty lists.
  const changed: DiffEntry[] =
    count > 0 && count <= MAX_COMPARED
      ? diff(added, removed)
      : [...removed.map((line): DiffEntry => [-1, line]), ...added.map((line): DiffEntry => [1, line])]
  return [...before.slice(0, head).map(same), ...changed, ...before.slice(before.length - tail).map(same)]
}

/** The lines of a diff, in each change the removed ones before the added ones, as readers expect. */
function removedFirst(lines: readonly DiffEntry[]): DiffEntry[] {
  const sorted: DiffEntry[] = []
  const added: DiffEntry[] = []
  for (const entry of lines) {
    if (entry[0] === 1) added.push(entry)
    else {
      if (entry[0] === 0) sorted.push(...added.splice(0))
      sorted.push(entry)
    }
  }
  return [...sorted, ...added]
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\r?\n$/, '').split('\n'))

/** Replaces texts that look like secrets: the file may contain some that its operator wrote there. */
function withoutSecrets(text: string): string {
  if (text.trim() === '') return text
  let clean = ''
  let done = 0
  const walk = (place: Place, key: string): void => {
    if (place.text !== undefined && isSecretText(key, place.text)) {
      clean += text.slice(done, place.start) + JSON.stringify(REDACTED)
      done = place.end
    }
    for (const entry of place.entries) walk(entry.value, entry.key ?? key)
  }
  walk(placesOf(text), '')
  return clean + text.slice(done)
}

/** Whether a text under a key is a secret, and not a reference to one. */
export function isSecretText(key: string, value: string): boolean {
  if (value === '' || /^(?:[A-Za-z]+ )?\$\{[^{}]+\}$/.test(value)) return false
  const short = value.slice(0, 400)
  return JSON.stringify(redact({ [key]: short })) !== JSON.stringify({ [key]: short })
}
