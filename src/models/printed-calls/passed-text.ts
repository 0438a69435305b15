const FENCE = '```'
const MOST_LEAD_IN = 160

/** Remembers of a text that went by what matters for the next character. */
export class PassedText {
  #characters = 0
  #lines = 0
  /** The first characters of the present line. */
  #head = ''
  #last = ''
  #fenced = false

  get hasBegun(): boolean {
    return this.#characters > 0
  }

  /** Within a fence. */
  get isFenced(): boolean {
    return this.#fenced
  }

  /** Right behind a quote or a backtick. */
  get isQuoting(): boolean {
    return this.#last === '`' || this.#last === '"' || this.#last === "'"
  }

  /** More than one short line: "I will look that up." */
  get isLong(): boolean {
    return this.#lines > 1 || this.#characters > MOST_LEAD_IN
  }

  /** A new line begins, and there is not much before it. */
  get isLeadIn(): boolean {
    return !this.isLong && !this.#fenced && this.#head === ''
  }

  add(text: string): void {
    if (text === '') return
    this.#characters += text.length
    this.#last = text.at(-1) ?? ''
    text.split('\n').forEach((part, index) => {
      if (index > 0) this.#head = ''
      this.#addToLine(part)
    })
  }

  #addToLine(text: string): void {
    if (this.#head.length >= FENCE.length) return
    const more = this.#head === '' ? text.trimStart() : text
    if (this.#head === '' && more !== '') this.#lines++
    this.#head += more.slice(0, FENCE.length - this.#head.length)
    if (this.#head === FENCE) this.#fenced = !this.#fenced
  }
}
