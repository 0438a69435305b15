/** A number in a text. */
export interface FoundNumber {
  readonly value: number
  readonly from: number
  readonly to: number
  /** Said as a percentage; `value` is as said. */
  readonly percent: boolean
}

const SMALL: Readonly<Record<string, number>> = Object.fromEntries([
  ...'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
    .split(' ')
    .map((word, value) => [word, value]),
  ...'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ').map((word, index) => [word, 20 + index * 10]),
])
const SCALES: Readonly<Record<string, number>> = {
  hundred: 100,
  dozen: 12,
  thousand: 1e3,
  million: 1e6,
  billion: 1e9,
  trillion: 1e12,
}
const WORDS = [...Object.keys(SMALL), ...Object.keys(SCALES)].join('|')
/** Not the digits of a word ("C6H12"), nor a power. */
const IN_DIGITS =
  /(?:(?<![\w.)\]])[-−])?(?<![\p{L}_^]|\p{L}-|[\d.])(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[-+]?\d+)?|(?<!\w)-?\.\d+/giu
const IN_WORDS = new RegExp(
  `\\b(?:(?:an?|half an?)\\s+(?=dozen|hundred|thousand|million|billion))?(?:${WORDS})(?:[\\s-]+(?:and\\s+)?(?:${WORDS})\\b)*\\b`,
  'gi',
)
const SCALE_AFTER = /^(?:\s?(hundred|thousand|million|billion|trillion|dozen)\b|(k|M|bn|B)\b(?!\/))/
const POWER_AFTER = /^\s?(?:x|×|\*)\s?10\s?\^\s?([-−]?\d+)/
const PERCENT_AFTER = /^\s?(?:%|per\s?cent\b)/i
/** Not `K`, which is as often a temperature. */
const LETTERS: Readonly<Record<string, number>> = { k: 1e3, M: 1e6, bn: 1e9, B: 1e9 }

/** The numbers of a text, in digits and in English words, in their order. */
export function numbersIn(text: string): FoundNumber[] {
  const found: FoundNumber[] = []
  for (const match of text.matchAll(IN_DIGITS)) {
    if (match.index < (found.at(-1)?.to ?? 0)) continue
    const plain = Number(match[0].replaceAll(',', '').replace('−', '-'))
    found.push(withSuffix(text, match.index, match.index + match[0].length, plain))
  }
  for (const match of text.matchAll(IN_WORDS)) {
    const to = match.index + match[0].length
    if (found.some((one) => one.from < to && match.index < one.to)) continue
    const value = numberOfWords(match[0])
    if (value !== undefined) found.push(withSuffix(text, match.index, to, value))
  }
  return found.sort((left, right) => left.from - right.from)
}

/** The number in English words. */
function numberOfWords(words: string): number | undefined {
  let total = 0
  let part: number | undefined
  for (const word of words.toLowerCase().split(/[\s-]+/)) {
    const scale = SCALES[word]
    if (word in SMALL) part = (part ?? 0) + (SMALL[word] as number)
    else if (scale !== undefined && scale <= 100) part = (part ?? 1) * scale
    else if (scale !== undefined) {
      total += (part ?? 1) * scale
      part = undefined
    }
  }
  return part === undefined && total === 0 && !/zero/i.test(words) ? undefined : total + (part ?? 0)
}

function withSuffix(text: string, from: number, end: number, plain: number): FoundNumber {
  let to = end
  let value = plain
  const scale = SCALE_AFTER.exec(text.slice(to, to + 12))
  const power = POWER_AFTER.exec(text.slice(to, to + 16))
  if (scale !== null) {
    value = exactly(value, SCALES[scale[1] ?? ''] ?? LETTERS[scale[2] ?? ''] ?? 1)
    to += scale[0].length
  } else if (power !== null) {
    value = Number(`${value}e${(power[1] as string).replace('−', '-')}`)
    to += power[0].length
  }
  const percent = PERCENT_AFTER.exec(text.slice(to, to + 10))
  return { value, from, to: to + (percent?.[0].length ?? 0), percent: percent !== null }
}

/** Without rounding errors: 2.3 million is 2,300,000. */
const exactly = (value: number, factor: number): number => Number((value * factor).toPrecision(12))
