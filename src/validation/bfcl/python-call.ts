/** A call as it is written in Python: what stands without a name, and what stands with one. */
export interface PythonCall {
  readonly name: string
  readonly positional: readonly unknown[]
  readonly named: Readonly<Record<string, unknown>>
}

const NAME = /[A-Za-z_][\w.]*/y
const NUMBER = /[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y
const BLANK = /\s*/y
const TEXT = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/sy
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|\n|(.))/gs
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '\0' }
const WORDS: Readonly<Record<string, unknown>> = { True: true, False: false, None: null }
const MAX_DEPTH = 64

/** Reads one call whose arguments are literals, such as `tail(file_name='log.txt', lines=20)`. Throws where it is none. */
export function parsePythonCall(text: string): PythonCall {
  return new Reader(text).call()
}

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  call(): PythonCall {
    const name = this.#take(NAME) ?? this.#refuse('the name of a function')
    const positional: unknown[] = []
    const named: Record<string, unknown> = {}
    this.#expect('(')
    this.#items(')', () => {
      const start = this.#at
      const argument = this.#take(NAME)
      if (argument !== undefined && this.#next('=')) named[argument] = this.#value(0)
      else {
        this.#at = start
        if (Object.keys(named).length > 0) this.#refuse('an argument with a name')
        positional.push(this.#value(0))
      }
    })
    if (this.#at < this.#text.length) this.#refuse('the end')
    return { name, positional, named }
  }

  #value(depth: number): unknown {
    if (depth > MAX_DEPTH) this.#refuse('fewer brackets')
    if (this.#next('[')) return this.#list(']', depth)
    if (this.#next('(')) return this.#list(')', depth)
    if (this.#next('{')) {
      const entries: [string, unknown][] = []
      this.#items('}', () => {
        const key = String(this.#value(depth + 1))
        this.#expect(':')
        entries.push([key, this.#value(depth + 1)])
      })
      return Object.fromEntries(entries)
    }
    const quoted = this.#take(TEXT)
    if (quoted !== undefined) return unescaped(quoted.slice(1, -1))
    const number = this.#take(NUMBER)
    if (number !== undefined) return Number(number)
    const word = this.#take(NAME) ?? ''
    return Object.hasOwn(WORDS, word) ? WORDS[word] : this.#refuse('a literal')
  }

  #list(closing: string, depth: number): unknown[] {
    const list: unknown[] = []
    this.#items(closing, () => list.push(this.#value(depth + 1)))
    return list
  }

  /** Items with commas between them, and perhaps one after the last. */
  #items(closing: string, item: () => void): void {
    while (!this.#next(closing)) {
      item()
      if (this.#next(',')) continue
      this.#expect(closing)
      return
    }
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found === undefined) return undefined
    this.#at += found.length
    this.#skip()
    return found
  }

  #next(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at++
    this.#skip()
    return true
  }

  #skip(): void {
    BLANK.lastIndex = this.#at
    this.#at += BLANK.exec(this.#text)?.[0].length ?? 0
  }

  #expect(character: string): void {
    if (!this.#next(character)) this.#refuse(`"${character}"`)
  }

  #refuse(wanted: string): never {
    throw new SyntaxError(`"${this.#text}" is no call in Python: expected ${wanted} at character ${this.#at + 1}`)
  }
}

const unescaped = (text: string): string =>
  text.replaceAll(ESCAPE, (_all, unicode?: string, byte?: string, other?: string) => {
    const code = unicode ?? byte
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
    return other === undefined ? '' : (ESCAPED[other] ?? (`'"\\`.includes(other) ? other : `\\${other}`))
  })
