const OPEN = '<think>'
const CLOSE = '</think>'

/**
 * Takes `<think>…</think>` out of a streamed text. Only at its beginning: there models think, further on somebody
 * writes about the tag. A block that never ends was all thinking.
 */
export class PrintedThinking {
  #state: 'start' | 'thinking' | 'gap' | 'text' = 'start'
  #held = ''
  #thought: string[] = []

  /** What was thought so far. */
  get thinking(): string {
    return this.#thought.join('')
  }

  /** Gives what of the text is meant for the reader, as far as that is decided. */
  push(text: string): string {
    if (this.#state === 'text') return text
    this.#held += text
    for (;;) {
      const before = this.#held.length
      const answer = this.#step()
      if (answer !== undefined) return answer
      if (this.#held.length === before) return ''
    }
  }

  /** Gives what was still held back when the text ended. */
  end(): string {
    const held = this.#held
    this.#held = ''
    if (this.#state === 'thinking') this.#thought.push(held)
    return this.#state === 'start' ? held : ''
  }

  /** Undefined where more text, or another state, has to decide. */
  #step(): string | undefined {
    if (this.#state === 'thinking') {
      const at = this.#held.indexOf(CLOSE)
      const end = at === -1 ? this.#held.length - splitTail(this.#held, CLOSE) : at
      this.#thought.push(this.#held.slice(0, end))
      this.#held = this.#held.slice(at === -1 ? end : end + CLOSE.length)
      if (at !== -1) this.#state = 'gap'
      return undefined
    }
    const begun = this.#held.trimStart()
    if (begun.startsWith(OPEN)) {
      this.#held = begun.slice(OPEN.length)
      this.#state = 'thinking'
      return undefined
    }
    if (OPEN.startsWith(begun)) return undefined
    // The blank lines between thinking and answer belong to neither.
    const answer = this.#state === 'gap' ? begun : this.#held
    this.#held = ''
    this.#state = 'text'
    return answer
  }
}

/** How many characters at the end of the text may be the beginning of the tag. */
function splitTail(text: string, tag: string): number {
  let length = Math.min(text.length, tag.length - 1)
  while (length > 0 && !tag.startsWith(text.slice(-length))) length--
  return length
}
