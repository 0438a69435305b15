const MAX_QUERY = 64
const MAX_TEXT = 200
/** A word of this length may have one wrong letter, and one more for each 4 letters. */
const LETTERS_PER_MISTAKE = 4
const NONE = 255

const wordsIn = (text: string): string[] => text.split(/[^\p{L}\p{N}]+/u).filter(Boolean)

interface Indexed<Item> {
  readonly item: Item
  readonly text: string
  /** The places of its words in the vocabulary. */
  readonly words: readonly number[]
  readonly initials: string
}

/**
 * Finds items by words: whole ones, beginnings, parts, initials and misspelled ones. Each different word is compared once, so
 * that the search takes milliseconds for thousands of items.
 */
export class FuzzyIndex<Item> {
  readonly #items: readonly Item[]
  readonly #textOf: (item: Item) => string
  readonly #vocabulary: string[] = []
  #indexed: readonly Indexed<Item>[] | undefined

  constructor(items: readonly Item[], textOf: (item: Item) => string) {
    this.#items = items
    this.#textOf = textOf
  }

  /** The items that have all words of the query, the best first; all items if there are none. */
  find(query: string): Item[] {
    const wanted = [...new Set(wordsIn(query.slice(0, MAX_QUERY).toLowerCase()))]
    if (wanted.length === 0) return [...this.#items]
    const indexed = this.#index()
    const scores = wanted.map((word) => Uint8Array.from(this.#vocabulary, (known) => wordScore(word, known)))
    const found: { readonly item: Item; readonly score: number }[] = []
    for (const one of indexed) {
      let sum = 0
      for (const [at, word] of wanted.entries()) sum += itemScore(one, word, scores[at] as Uint8Array)
      if (sum < NONE) found.push({ item: one.item, score: sum })
    }
    return found.sort((one, other) => one.score - other.score).map(({ item }) => item)
  }

  #index(): readonly Indexed<Item>[] {
    if (this.#indexed !== undefined) return this.#indexed
    const places = new Map<string, number>()
    this.#indexed = this.#items.map((item) => {
      const text = this.#textOf(item).slice(0, MAX_TEXT).toLowerCase()
      const words = wordsIn(text)
      const known = words.map((word) => {
        const place = places.get(word) ?? places.size
        places.set(word, place)
        return place
      })
      return { item, text, words: known, initials: words.map((word) => word[0]).join('') }
    })
    this.#vocabulary.push(...places.keys())
    return this.#indexed
  }
}

function itemScore<Item>({ text, words, initials }: Indexed<Item>, word: string, scores: Uint8Array): number {
  let best = NONE
  for (const place of words) best = Math.min(best, scores[place] as number)
  if (best <= 1) return best
  if (text.includes(word)) return 2
  if (word.length > 1 && initials.includes(word)) return 3
  return best
}

function wordScore(word: string, known: string): number {
  if (known === word) return 0
  if (known.startsWith(word)) return 1
  const most = Math.floor(word.length / LETTERS_PER_MISTAKE)
  if (most === 0 || known.length < word.length - most) return NONE
  let best = most + 1
  // The rest of a longer word isn't typed yet.
  for (let length = word.length - 1; length <= word.length + 1 && length <= known.length; length++) {
    best = Math.min(best, distance(word, known.slice(0, length)))
  }
  return best <= most ? 3 + best : NONE
}

/** How many letters differ. Two swapped letters count once. */
function distance(one: string, other: string): number {
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let line = 1; line <= one.length; line++) {
    const next = [line]
    for (let at = 1; at <= other.length; at++) {
      const replaced = (row[at - 1] as number) + (one[line - 1] === other[at - 1] ? 0 : 1)
      let cost = Math.min(replaced, (row[at] as number) + 1, (next[at - 1] as number) + 1)
      const isSwapped = line > 1 && at > 1 && one[line - 1] === other[at - 2] && one[line - 2] === other[at - 1]
      if (isSwapped) cost = Math.min(cost, (before[at - 2] as number) + 1)
      next.push(cost)
    }
    before = row
    row = next
  }
  return row[other.length] as number
}
