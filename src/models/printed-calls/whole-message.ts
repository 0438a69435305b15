import { Balance } from './balance.ts'
import { PassedText } from './passed-text.ts'

/** Follows a message that may be nothing but calls, bare or fenced: behind one there may only be others. */
export class WholeMessage {
  readonly #lines = new PassedText()
  #balance = new Balance()
  #isBetween = false

  /** Whether this character closes a value or a fence, or belongs to neither. */
  add(character: string): 'open' | 'closed' | 'broken' {
    const wasFenced = this.#lines.isFenced
    this.#lines.add(character)
    if (this.#lines.isFenced) return 'open'
    if (this.#isBetween) {
      if (/[\s,;`]/.test(character)) return 'open'
      if (character !== '{' && character !== '[') return 'broken'
      this.#isBetween = false
      this.#balance = new Balance()
    }
    this.#isBetween = wasFenced || this.#balance.closes(character)
    return this.#isBetween ? 'closed' : 'open'
  }
}
