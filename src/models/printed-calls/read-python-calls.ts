import type { PrintedCall } from './read-json-calls.ts'

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
const NAME = /[A-Za-z_][\w.-]{0,127}/y
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
    const name = this.#match(NAME)
    this.#need('(')
    const args = this.#until(')', () => {
      const key = this.#match(NAME)
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
      const word = this.#match(NAME)
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
