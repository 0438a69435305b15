const REDACTED = '[redacted]'
/** A shorter value stands in too many texts by chance. */
const SHORTEST = 6

/** Secrets by their value, in every spelling that an answer may bring them back in. */
export class SecretValues {
  /** Longest first, whichever value they are of: one that holds another goes whole. */
  #spellings: readonly string[] = []
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
    return this.#spellings.length === 0 && (this.#base === undefined || this.#base.isEmpty)
  }

  add(value: string): void {
    if (!SecretValues.isLongEnough(value)) return
    const all = new Set([...this.#spellings, ...spellings(value)])
    this.#spellings = [...all].sort((one, other) => other.length - one.length)
  }

  /** Whether any of them stands in the text. */
  isIn(text: string): boolean {
    // Shortest first: a large answer has very many texts that are too short for any of them.
    for (let at = this.#spellings.length - 1; at >= 0; at--) {
      const spelling = this.#spellings[at] as string
      if (spelling.length > text.length) break
      if (text.includes(spelling)) return true
    }
    return this.#base?.isIn(text) ?? false
  }

  /** The text without them. */
  scrub(text: string): string {
    if (!this.isIn(text)) return text
    let clean = text
    for (const spelling of this.#spellings) clean = clean.replaceAll(spelling, REDACTED)
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

/** As it is, in a text of JSON, in an address or a form, and in base64. */
function spellings(value: string): string[] {
  const wellFormed = value.toWellFormed()
  const inJson = JSON.stringify(value).slice(1, -1)
  const inForm = new URLSearchParams([['', value]]).toString().slice(1)
  const inQuery = encodeURIComponent(wellFormed)
  const inPath = encodeURI(wellFormed).replace(/[?#]/g, encodeURIComponent)
  // Addresses encode these too when they are parsed.
  const inAddresses = [inQuery, inPath, inForm].flatMap((text) => [text, text.replaceAll("'", '%27')])
  const inBase64 = Buffer.from(value).toString('base64')
  return [
    value,
    inJson,
    inJson.replaceAll('/', '\\/'),
    inJson.replaceAll(ESCAPED, (one) => `\\u${hex(one).toUpperCase()}`),
    inJson.replaceAll(ESCAPED, (one) => `\\u${hex(one)}`),
    ...inAddresses,
    ...inAddresses.map((text) => text.replaceAll(/%[0-9A-F]{2}/g, (one) => one.toLowerCase())),
    inBase64,
    inBase64.replace(/(?<!=)=+$/, ''),
    Buffer.from(value).toString('base64url'),
  ]
}

/** What some write as an escape in JSON, though it need not be one. */
const ESCAPED = /[&'+<>`]|[^\0-~]/g
const hex = (one: string): string => one.charCodeAt(0).toString(16).padStart(4, '0')
