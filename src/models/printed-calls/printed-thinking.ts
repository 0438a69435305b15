const OPEN = '<think>'
const CLOSE = '</think>'

/**
 * Removes `<think>…</think>` from the start of a streamed text. Later tags are ordinary text. An unclosed block is all
 * thinking.
 */
export class PrintedThinking {
  #state: 'start' | 'thinking' | 'gap' | 'text' = 'start'
  #held = ''
  #thought: string[] = []

  get thinking(): string {
    return this.#thought.join('')
  }

  /** Returns the text for the reader, as far as it is decided. */
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

  /** Returns the text still held back at the end. */
  end(): string {
    const held = this.#held
    this.#held = ''
    if (this.#state === 'thinking') this.#thought.push(held)
    return this.#state === 'start' ? held : ''
  }

  /** Undefined if more text or another state has to decide. */
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
    // Drops the blank lines between thinking and answer.
    const answer = this.#state === 'gap' ? begun : this.#held
    this.#held = ''
    this.#state = 'text'
    return answer
  }
}

/** The length of the longest end of the text that may start the tag. */
function splitTail(text: string, tag: string): number {
  let length = Math.min(text.length, tag.length - 1)
  while (length > 0 && !tag.startsWith(text.slice(-length))) length--
  return length
}
