const REDACTED = '[redacted]'
/** A shorter value stands in too many texts by chance. */
const SHORTEST = 6
const MOST = 200

/** Secrets by their value, in every spelling that an answer may bring them back in. */
export class SecretValues {
  readonly #spellings = new Set<string>()
  readonly #base: SecretValues | undefined

  /** With a base, those of the base too, also the ones that it is given later. */
  constructor(values: Iterable<string> = [], base?: SecretValues) {
    this.#base = base
    for (const value of values) this.add(value)
  }

  /** Whether a value is long enough to be found again; a shorter one is not taken in. */
  static isLongEnough(value: string): boolean {
    return value.length >= SHORTEST
  }

  get isEmpty(): boolean {
    return this.#spellings.size === 0 && (this.#base === undefined || this.#base.isEmpty)
  }

  add(value: string): void {
    if (!SecretValues.isLongEnough(value)) return
    for (const spelling of spellings(value)) {
      this.#spellings.delete(spelling)
      this.#spellings.add(spelling)
    }
    for (const oldest of this.#spellings) {
      if (this.#spellings.size <= MOST) break
      this.#spellings.delete(oldest)
    }
  }

  /** Whether any of them stands in the text. */
  isIn(text: string): boolean {
    for (const spelling of this.#spellings) if (text.includes(spelling)) return true
    return this.#base?.isIn(text) ?? false
  }

  /** The text without them. */
  scrub(text: string): string {
    let clean = text
    for (const spelling of this.#spellings) {
      if (clean.includes(spelling)) clean = clean.replaceAll(spelling, REDACTED)
    }
    return this.#base === undefined ? clean : this.#base.scrub(clean)
  }

  /** The value without them in any of its texts and keys; the very same value where there are none. */
  scrubValue(value: unknown): unknown {
    if (this.isEmpty) return value
    if (typeof value === 'string') return this.scrub(value)
    if (typeof value === 'number') return this.isIn(String(value)) ? REDACTED : value
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((one) => this.scrubValue(one))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [this.scrub(key), this.scrubValue(one)]))
  }
}

/** Longest first, so that one that holds another goes whole. */
function spellings(value: string): string[] {
  const wellFormed = value.toWellFormed()
  const inJson = JSON.stringify(value).slice(1, -1)
  const inForm = new URLSearchParams([['', value]]).toString().slice(1)
  const inBase64 = Buffer.from(value).toString('base64')
  const all = new Set([value, inJson, encodeURIComponent(wellFormed), inForm, inBase64, inBase64.replace(/=+$/, '')])
  return [...all].sort((one, other) => other.length - one.length)
}
