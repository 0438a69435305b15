/** How long one may take a breath after the phrase. */
const LISTENING_MS = 8_000

/** Decides what is meant for us: what begins with the phrase, or follows it when it was said alone. */
export class WakePhrase {
  readonly #pattern: RegExp | undefined
  readonly #now: () => number
  #listeningUntil = Number.NEGATIVE_INFINITY

  constructor(phrase: string, now: () => number = () => performance.now()) {
    const words = phrase.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
    // Recognisers put commas and capitals where they like.
    this.#pattern =
      words.length === 0
        ? undefined
        : new RegExp(`^\\P{L}*${words.join('\\P{L}+')}(?![\\p{L}\\p{N}])[\\p{P}\\s]*`, 'iu')
    this.#now = now
  }

  /** What is wanted: the text without the phrase, nothing where only the phrase was said, undefined where it is not for us. */
  wanted(text: string): string | undefined {
    if (this.#pattern === undefined) return text
    const found = this.#pattern.exec(text)
    if (found === null) {
      const listening = this.#now() < this.#listeningUntil
      this.#listeningUntil = Number.NEGATIVE_INFINITY
      return listening ? text : undefined
    }
    const rest = text.slice(found[0].length).trim()
    if (rest === '') this.#listeningUntil = this.#now() + LISTENING_MS
    return rest
  }
}
