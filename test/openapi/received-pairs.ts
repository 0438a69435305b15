import type { WrittenPair } from './written-value.ts'

/** The pairs of a query, a form or cookies as they came, and which of them nobody has asked for yet. */
export class ReceivedPairs {
  readonly #pairs: { readonly name: string; readonly raw: string }[]
  readonly #what: string

  constructor(text: string, between: string, what: string) {
    this.#what = what
    this.#pairs = text
      .split(between)
      .filter((pair) => pair.trim() !== '')
      .map((pair) => {
        const cut = pair.indexOf('=')
        return cut < 0
          ? { name: decoded(pair.trim()), raw: '' }
          : { name: decoded(pair.slice(0, cut).trim()), raw: pair.slice(cut + 1) }
      })
  }

  /** Takes a pair out; says what is wrong where it is not there. */
  take({ name, texts, cut }: WrittenPair): string[] {
    const found = this.#pairs.findIndex((pair) => pair.name === name && isSame(pair.raw, texts, cut))
    if (found >= 0) {
      this.#pairs.splice(found, 1)
      return []
    }
    const there = this.#pairs.filter((pair) => pair.name === name).map(({ raw }) => raw)
    return [`${this.#what} ${name} is ${JSON.stringify(there)}, not ${JSON.stringify(texts)}`]
  }

  /** Takes out what has that name and a value of which `isFit` holds. */
  takeWhere(name: string, isFit: (value: string) => boolean): string[] {
    const found = this.#pairs.findIndex((pair) => pair.name === name && isFit(decoded(pair.raw)))
    if (found < 0) return [`${this.#what} ${name} has no credential`]
    this.#pairs.splice(found, 1)
    return []
  }

  /** What was never asked for. */
  left(): string[] {
    return this.#pairs.map(({ name, raw }) => `${this.#what} ${name}=${raw} is in no document`)
  }
}

function isSame(raw: string, texts: readonly string[], cut: RegExp | undefined): boolean {
  const parts = cut === undefined ? [raw] : raw.split(cut)
  return parts.length === texts.length && parts.every((part, at) => decoded(part) === texts[at])
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
