/** Follows brackets and quotes, one character at a time. */
export class Balance {
  #depth = 0
  #quote = ''
  #escaped = false

  /** Whether this character closes the first bracket. */
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
