import { isObject } from '../../core/schema/schema-keywords.ts'
import type { ToolCall } from '../model.ts'
import { readJson } from '../read-json.ts'
import { MARKERS } from './markers.ts'
import { Balance, PassedText } from './passed-text.ts'
import { type PrintedCall, readJsonCalls } from './read-json-calls.ts'

const CALL = /\s*<(?:(function)=([\w.-]{1,128})|(invoke) name="([\w.-]{1,128})")>/y
const PARAMETER = /\s*<parameter(?:=([^>\s]{1,128})|\s+name="([^"]{1,128})")[^>]{0,100}>/y
const KEY = /\s*<arg_key>\s*([^<\s](?:[^<]{0,126}[^<\s])?)\s*<\/arg_key>\s*<arg_value>/y
const NAME_LINE = /\s*([\w.-]{1,128})\s*(?=<arg_key>|$)/y

const NON_BLANK = /\S/g

/** Whether anything but blanks follows. */
function hasMore(text: string, at: number): boolean {
  NON_BLANK.lastIndex = at
  return NON_BLANK.test(text)
}

/** Reads tagged calls: `<function=…><parameter=…>`, `<invoke name="…">` and GLM's `<arg_key>`. */
function readTaggedCalls(text: string): PrintedCall[] | undefined {
  const calls: PrintedCall[] = []
  let at = 0
  while (hasMore(text, at)) {
    CALL.lastIndex = at
    const found = CALL.exec(text)
    if (found === null) return at === 0 ? readKeysAndValues(text) : undefined
    const close = `</${found[1] ?? found[3]}>`
    const end = endOf(text, close, CALL.lastIndex)
    const call = readContent(found[2] ?? found[4] ?? '', text.slice(CALL.lastIndex, end))
    if (call === undefined) return undefined
    calls.push(call)
    at = end + close.length
  }
  return calls.length > 0 ? calls : undefined
}

function readContent(name: string, content: string): PrintedCall | undefined {
  if (!content.trimStart().startsWith('{')) return readValues(name, content, PARAMETER, '</parameter>')
  const args = readJson(content)
  return typeof args === 'object' && args !== null ? { name, args: { ...args } } : undefined
}

function readKeysAndValues(text: string): PrintedCall[] | undefined {
  NAME_LINE.lastIndex = 0
  const name = NAME_LINE.exec(text)?.[1]
  if (name === undefined) return undefined
  const call = readValues(name, text.slice(NAME_LINE.lastIndex), KEY, '</arg_value>')
  return call && [call]
}

function readValues(name: string, text: string, opening: RegExp, close: string): PrintedCall | undefined {
  const values: [string, string][] = []
  let at = 0
  while (hasMore(text, at)) {
    opening.lastIndex = at
    const found = opening.exec(text)
    const end = found === null ? -1 : text.indexOf(close, opening.lastIndex)
    if (found === null || end === -1) return undefined
    // Templates put values on their own lines.
    values.push([found[1] ?? found[2] ?? '', text.slice(opening.lastIndex, end).replace(/^\n|\n$/g, '')])
    at = end + close.length
  }
  return { name, args: Object.fromEntries(values), untyped: true }
}

/** Models often omit the last closing tag. */
function endOf(text: string, close: string, from: number): number {
  const end = text.indexOf(close, from)
  return end === -1 ? text.length : end
}

/** Template tokens and separators between calls, or between a name and its arguments. */
const BETWEEN =
  /(?:[\s,;]|```[a-z_]*|<\|constrain\|>\w*|<\|[\w/]{1,40}\|>|<｜[\w▁]{1,40}｜>|\[ARGS\]|\[CALL_ID\]\w{1,40}|\[TOOL_CALLS\]|<\/s>)+/y
const NAME = /(?:functions\.)?([\w.-]{1,128})(?::\d+)?/y

/** Reads a text of calls only: JSON values, or names with arguments. */
function readSequence(text: string, names: 'named' | 'unnamed'): PrintedCall[] | undefined {
  const calls: PrintedCall[] = []
  let name: string | undefined
  for (let at = skip(text, 0); at < text.length; at = skip(text, at)) {
    if (text[at] === '{' || text[at] === '[') {
      const end = valueEnd(text, at)
      const value = readJson(text.slice(at, end))
      const read = name === undefined ? readJsonCalls(value) : readNamed(name, value)
      if (read === undefined) return undefined
      calls.push(...read)
      name = undefined
      at = end
      continue
    }
    NAME.lastIndex = at
    const found = names === 'named' ? NAME.exec(text) : null
    // DeepSeek writes the type before the name.
    if (found === null || (name !== undefined && name !== 'function')) return undefined
    name = found[1]
    at = NAME.lastIndex
  }
  return calls.length > 0 && name === undefined ? calls : undefined
}

const readNamed = (name: string, args: unknown): PrintedCall[] | undefined =>
  isObject(args) ? [{ name, args: { ...args } }] : undefined

function skip(text: string, at: number): number {
  BETWEEN.lastIndex = at
  return BETWEEN.test(text) ? BETWEEN.lastIndex : at
}

/** The index after the closing bracket, or the end of the text. */
function valueEnd(text: string, start: number): number {
  const balance = new Balance()
  for (let at = start; at < text.length; at++) if (balance.closes(text[at] ?? '')) return at + 1
  return text.length
}

export type Piece = { readonly text: string } | { readonly calls: readonly ToolCall[] }

/** Accepts all calls or none. `body` is the text that was read, `marked` the same with markers. */
export type Accept = (calls: readonly PrintedCall[], body: string, marked: string) => readonly ToolCall[] | undefined

const escaped = (text: string): string => text.replaceAll(/[[\]|]/g, '\\$&')
const OPENINGS = new RegExp(MARKERS.map(({ open }) => escaped(open)).join('|'), 'g')
const CLOSINGS = MARKERS.map(({ close }) => close).filter((close) => close !== undefined)
const TOKEN = /<\|[\w/]{1,40}\|>/
const OTHER_CLOSINGS = CLOSINGS.filter((close) => !TOKEN.test(close)).map(escaped)
/** A rest of a line without content: blanks, template tokens, and closing markers without an opening. */
const LINE_END = new RegExp(`^(?:[ \\t\\r]|</s>|${TOKEN.source}|${OTHER_CLOSINGS.join('|')})*(?:\\n|$)`)

/** Reads a message that is a call as a whole: JSON, bare or fenced, or a fence with a marked call. */
export function readWhole(text: string, accept: Accept): Piece[] {
  const calls = guarded(() => {
    const inside = withoutFence(text.trim())
    const read = readSequence(text, 'unnamed') ?? readPythonCalls(inside)
    if (read !== undefined) return accept(read, inside, text)
    const pieces = readMarked(inside, accept)
    return pieces.every((piece) => 'calls' in piece) ? pieces.flatMap((piece) => piece.calls) : undefined
  })
  return calls === undefined || calls.length === 0 ? [{ text }] : [{ calls }]
}

interface MarkedCall {
  readonly calls: readonly ToolCall[]
  readonly from: number
  readonly end: number
}

/** Reads marked calls on lines of their own; the rest stays text. */
export function readMarked(text: string, accept: Accept): Piece[] {
  const found: MarkedCall[] = []
  const openings = [...text.matchAll(OPENINGS)]
  const nextOf = nextOpenings(openings)
  const passed = new PassedText()
  let readTo = 0
  openings.forEach(({ 0: open, index: at }, number) => {
    const marker = MARKERS.find((one) => one.open === open)
    if (marker === undefined || at < readTo) return
    passed.add(text.slice(readTo, at))
    readTo = at
    if (!passed.mayStartCall) return
    // An unclosed call ends at the next opening or at the end.
    const next = nextOf[number] ?? text.length
    const inside = text.slice(at, next)
    const close = marker.close === undefined ? -1 : inside.indexOf(marker.close)
    const end = close === -1 ? next : at + close + (marker.close?.length ?? 0)
    const body = marker.named ? text.slice(at, end) : inside.slice(open.length, close === -1 ? undefined : close)
    const calls = guarded(() => accept(readBody(body) ?? [], body, text.slice(at, end)))
    if (calls === undefined || calls.length === 0) return
    found.push({ calls, from: at, end })
    // Another call may follow on the same line.
    readTo = end
  })
  return piecesOf(text, endingLines(text, found))
}

/** Where the next opening of the same kind is, for each opening; undefined for the last ones. */
function nextOpenings(openings: readonly RegExpExecArray[]): (number | undefined)[] {
  const following = new Map<string, number>()
  const found: (number | undefined)[] = []
  for (const { 0: open, index } of openings.toReversed()) {
    found.push(following.get(open))
    following.set(open, index)
  }
  return found.reverse()
}

/** Calls with nothing after them on the line: in a sentence, a call is only mentioned. */
function endingLines(text: string, found: readonly MarkedCall[]): readonly MarkedCall[] {
  const lastOnLine: MarkedCall[] = []
  for (const call of found.toReversed())
    if (LINE_END.test(text.slice(call.end, lastOnLine.at(-1)?.from))) lastOnLine.push(call)
  return lastOnLine.toReversed()
}

function piecesOf(text: string, found: readonly MarkedCall[]): Piece[] {
  if (found.length === 0) return [{ text }]
  let textFrom = 0
  const pieces: Piece[] = []
  for (const { calls, from, end } of found) {
    pieces.push({ text: text.slice(textFrom, from) }, { calls })
    textFrom = end
  }
  return [...pieces, { text: text.slice(textFrom) }].filter((piece) => !isBlank(piece))
}

const readBody = (body: string): PrintedCall[] | undefined =>
  readTaggedCalls(body) ?? readSequence(body, 'named') ?? readPythonCalls(body)

/** Blanks, or a closing marker without an opening. */
function isBlank(piece: Piece): boolean {
  if ('calls' in piece) return false
  const text = piece.text.trim()
  return text === '' || CLOSINGS.includes(text)
}

function withoutFence(text: string): string {
  if (!text.startsWith('```')) return text
  return text.slice(text.indexOf('\n') + 1, text.endsWith('```') ? -3 : undefined)
}

/** Reading must not fail, whatever the model printed. */
function guarded<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['True', true],
  ['False', false],
  ['None', null],
  ['true', true],
  ['false', false],
  ['null', null],
])
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' }
const SPACE = /\s*/y
const PYTHON_NAME = /[A-Za-z_][\w.-]{0,127}/y
const NUMBER = /[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y
const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/sy
const MAX_DEPTH = 32

/** Reads Python calls: `name(key=value, …)`, one or a list. Undefined for any other text. */
export function readPythonCalls(text: string): PrintedCall[] | undefined {
  try {
    return new PythonReader(text).calls()
  } catch (error) {
    if (error === NOT_PYTHON) return undefined
    throw error
  }
}

/** Shared: creating an error costs more than reading most texts. */
const NOT_PYTHON = new Error('not Python')

class PythonReader {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  calls(): PrintedCall[] {
    const listed = this.#take('[')
    const calls = [this.#call()]
    while (this.#take(listed ? ',' : ';') || (!listed && !this.#isEnd())) calls.push(this.#call())
    if (listed) this.#need(']')
    if (!this.#isEnd()) throw NOT_PYTHON
    return calls
  }

  #call(): PrintedCall {
    const name = this.#match(PYTHON_NAME)
    this.#need('(')
    const args = this.#until(')', () => {
      const key = this.#match(PYTHON_NAME)
      this.#need('=')
      return [key, this.#value()] as const
    })
    return { name, args: Object.fromEntries(args) }
  }

  #value(): unknown {
    if (++this.#depth > MAX_DEPTH) throw NOT_PYTHON
    try {
      if (this.#take('[')) return this.#until(']', () => this.#value())
      if (this.#take('{')) return Object.fromEntries(this.#until('}', () => this.#entry()))
      const next = this.#peek()
      if (next === '"' || next === "'") return unquoted(this.#match(STRING))
      if (/[\d+.-]/.test(next)) return Number(this.#match(NUMBER))
      const word = this.#match(PYTHON_NAME)
      if (!WORDS.has(word)) throw NOT_PYTHON
      return WORDS.get(word)
    } finally {
      this.#depth--
    }
  }

  #entry(): readonly [string, unknown] {
    const key = unquoted(this.#match(STRING))
    this.#need(':')
    return [key, this.#value()]
  }

  #until<Value>(close: string, read: () => Value): Value[] {
    const values: Value[] = []
    while (!this.#take(close)) {
      values.push(read())
      if (this.#take(',')) continue
      this.#need(close)
      break
    }
    return values
  }

  #peek(): string {
    SPACE.lastIndex = this.#at
    SPACE.test(this.#text)
    this.#at = SPACE.lastIndex
    return this.#text[this.#at] ?? ''
  }

  #isEnd(): boolean {
    return this.#peek() === ''
  }

  #take(character: string): boolean {
    const taken = this.#peek() === character
    if (taken) this.#at++
    return taken
  }

  #need(character: string): void {
    if (!this.#take(character)) throw NOT_PYTHON
  }

  #match(pattern: RegExp): string {
    this.#peek()
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found === null) throw NOT_PYTHON
    this.#at = pattern.lastIndex
    return found[0]
  }
}

const unquoted = (quoted: string): string =>
  quoted.slice(1, -1).replace(/\\(.)/gs, (_, character: string) => ESCAPES[character] ?? character)
