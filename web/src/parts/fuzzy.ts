const MAX_QUERY = 64
const MAX_TEXT = 300
/** A word of this length may have one wrong letter, and one more for each 4 letters. */
const LETTERS_PER_MISTAKE = 4

const words = (text: string): string[] => text.split(/[^\p{L}\p{N}]+/u).filter(Boolean)

/** How well a text fits a query: 0 is best, undefined if a word is missing. Forgives misspelled words and takes initials. */
export function fuzzyScore(query: string, text: string): number | undefined {
  const wanted = words(query.slice(0, MAX_QUERY).toLowerCase())
  const lower = text.slice(0, MAX_TEXT).toLowerCase()
  const known = words(lower)
  let sum = 0
  for (const word of wanted) {
    const score = wordScore(word, lower, known)
    if (score === undefined) return undefined
    sum += score
  }
  return sum
}

function wordScore(word: string, text: string, known: readonly string[]): number | undefined {
  if (known.includes(word)) return 0
  if (known.some((one) => one.startsWith(word))) return 1
  if (text.includes(word)) return 2
  if (
    word.length > 1 &&
    known
      .map((one) => one[0])
      .join('')
      .includes(word)
  )
    return 3
  const most = Math.floor(word.length / LETTERS_PER_MISTAKE)
  let best = most + 1
  for (const one of most === 0 ? [] : known) {
    if (one.length < word.length - most || best <= 1) continue
    // The rest of a longer word isn't typed yet.
    for (const length of new Set([word.length, word.length + 1, word.length - 1, one.length])) {
      if (length > word.length + most) continue
      best = Math.min(best, distance(word, one.slice(0, length), most))
    }
  }
  return best <= most ? 3 + best : undefined
}

/** The items that fit, the best first. */
export function fuzzyFilter<Item>(items: readonly Item[], query: string, textOf: (item: Item) => string): Item[] {
  if (words(query).length === 0) return [...items]
  return items
    .flatMap((item) => {
      const score = fuzzyScore(query, textOf(item))
      return score === undefined ? [] : [{ item, score }]
    })
    .sort((one, other) => one.score - other.score)
    .map(({ item }) => item)
}

/** How many letters differ, where two swapped ones count once. More than `most` if the lengths differ by that. */
function distance(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return most + 1
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
