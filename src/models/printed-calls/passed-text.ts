const MAX_LEAD_IN = 160
/** In Markdown, two spaces continue a list item and four start code. */
const MAX_INDENT = 1
const FENCES: ReadonlySet<string> = new Set(['```', '~~~'])
const FENCE_LENGTH = 3
/** By kind, because a mark that opens in one language closes in another. Single quotes look like apostrophes. */
const QUOTES: Readonly<Record<string, string>> = {
  '“': '”',
  '„': '”',
  '”': '”',
  '«': '»',
  '»': '»',
  '"': '"',
  '`': '`',
}
const QUOTE = /["`“„”«»]/g

/** Tracks the line start, open fences and open quotes of a text. */
export class PassedText {
  #characters = 0
  #lines = 0
  #head = ''
  #indent = 0
  #fence = ''
  readonly #quotes = new Set<string>()

  get hasBegun(): boolean {
    return this.#characters > 0
  }

  get isFenced(): boolean {
    return this.#fence !== ''
  }

  /** At the start of a line, outside code, quotes, lists and block quotes. */
  get mayStartCall(): boolean {
    const isLineStart = this.#head === '' && (this.#indent <= MAX_INDENT || this.#lines === 0)
    return isLineStart && !this.isFenced && this.#quotes.size === 0
  }

  /** Longer than a lead-in such as "I will look that up." */
  get isLong(): boolean {
    return this.#lines > 1 || this.#characters > MAX_LEAD_IN
  }

  add(text: string): void {
    if (text === '') return
    this.#characters += text.length
    text.split('\n').forEach((part, index) => {
      if (index > 0) {
        this.#head = ''
        this.#indent = 0
      }
      this.#addToLine(part)
    })
    for (const [quote] of text.matchAll(QUOTE)) this.#turnQuote(QUOTES[quote] ?? quote)
  }

  #addToLine(text: string): void {
    if (this.#head.length >= FENCE_LENGTH) return
    const more = this.#head === '' ? text.trimStart() : text
    if (this.#head === '') this.#indent += text.length - more.length
    if (this.#head === '' && more !== '') this.#lines++
    this.#head += more.slice(0, FENCE_LENGTH - this.#head.length)
    if (!FENCES.has(this.#head)) return
    if (this.#fence === '') this.#fence = this.#head
    else if (this.#fence === this.#head) this.#fence = ''
  }

  #turnQuote(kind: string): void {
    if (!this.#quotes.delete(kind)) this.#quotes.add(kind)
  }
}

/** Tracks brackets and quotes. */
export class Balance {
  #depth = 0
  #quote = ''
  #escaped = false

  /** Whether the character closes the first bracket. */
  closes(character: string): boolean {
    if (this.#escaped) this.#escaped = false
    else if (this.#quote !== '') {
      if (character === '\\') this.#escaped = true
      else if (character === this.#quote) this.#quote = ''
    } else if (character === '"' || character === "'") this.#quote = character
    else if (character === '{' || character === '[' || character === '(') this.#depth++
    else if (character === '}' || character === ']' || character === ')') return --this.#depth === 0
    return false
  }
}
