const MAX_SUGGESTIONS = 3
const MAX_NAME_LENGTH = 128

/** The known names closest to an unknown one, closest first. */
export function suggest(wanted: string, names: Iterable<string>): string[] {
  if (wanted.length > MAX_NAME_LENGTH) return []
  const lower = wanted.toLowerCase()
  const reach = Math.max(2, Math.floor(wanted.length / 3))
  const near: { name: string; score: number; apart: number }[] = []
  for (const name of names) {
    const other = name.toLowerCase()
    const within = lower.length > 2 && (other.includes(lower) || lower.includes(other))
    if (!within && Math.abs(other.length - lower.length) > reach) continue
    const apart = distance(lower, other)
    if (within || apart <= reach) near.push({ name, score: within ? Math.min(apart, reach) : apart, apart })
  }
  return near
    .sort((a, b) => a.score - b.score || a.apart - b.apart || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_SUGGESTIONS)
    .map((one) => one.name)
}

/** The Levenshtein distance. */
export function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let line = 1; line <= one.length; line++) {
    const next = [line]
    for (let at = 1; at <= other.length; at++) {
      const replaced = (row[at - 1] as number) + (one[line - 1] === other[at - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[at] as number) + 1, (next[at - 1] as number) + 1))
    }
    row = next
  }
  return row[other.length] as number
}

/** Sorting marks takes quadratic time. Unicode's Stream-Safe Text Format has at most 30 in a row. */
const MARKS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/** Removes accents from Latin letters only: in other scripts the marks are vowels. */
export const withoutAccents = (text: string): string =>
  text
    .replace(MARKS, '$1')
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]+/g, '')
    .normalize('NFC')
