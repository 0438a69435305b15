const MOST_LEAD_IN = 160
/** Two or more spaces continue a list item in Markdown, four begin code. */
const MOST_INDENT = 1
const FENCES: ReadonlySet<string> = new Set(['```', '~~~'])
const FENCE_LENGTH = 3
/** Counted by kind, because a mark opens in one language and closes in another. Apostrophes look like single quotes. */
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

/** Remembers what matters of the text before a place: the start of its line, open fences and open quotes. */
export class PassedText {
  #characters = 0
  #lines = 0
  /** The first characters of the present line. */
  #head = ''
  #indent = 0
  #fence = ''
  /** The kinds of quotes that are open. */
  readonly #quotes = new Set<string>()

  get hasBegun(): boolean {
    return this.#characters > 0
  }

  /** Within a fence. */
  get isFenced(): boolean {
    return this.#fence !== ''
  }

  /** A call may start here: at the start of a line, and not in code, in quotes, in a list or in a block quote. */
  get mayStartCall(): boolean {
    const isLineStart = this.#head === '' && (this.#indent <= MOST_INDENT || this.#lines === 0)
    return isLineStart && !this.isFenced && this.#quotes.size === 0
  }

  /** More than one short line: "I will look that up." */
  get isLong(): boolean {
    return this.#lines > 1 || this.#characters > MOST_LEAD_IN
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
