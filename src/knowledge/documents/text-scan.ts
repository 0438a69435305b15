/** Non-ASCII characters that `\s` matches. */
const WIDE_SPACES = new Set([
  0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029,
  0x202f, 0x205f, 0x3000, 0xfeff,
])

export const isSpace = (code: number): boolean =>
  code <= 0x20 ? code === 0x20 || (code >= 9 && code <= 13) : code >= 0xa0 && WIDE_SPACES.has(code)

export function firstNonSpace(text: string, from: number, to: number): number {
  let at = from
  while (at < to && isSpace(text.charCodeAt(at))) at++
  return at
}

export function lastNonSpace(text: string, from: number, to: number): number {
  let at = to
  while (at > from && isSpace(text.charCodeAt(at - 1))) at--
  return at
}

export function lineEnd(text: string, at: number, to: number): number {
  const end = text.indexOf('\n', at)
  return end === -1 || end > to ? to : end
}

/** More white space isn't an indent. */
const MAX_INDENT = 100

/** The start of the first non-empty line, including its indent. */
export function firstLine(text: string, from: number, to: number): number {
  const ink = firstNonSpace(text, from, to)
  const start = Math.max(text.lastIndexOf('\n', ink - 1) + 1, from)
  return ink === to || ink - start > MAX_INDENT ? ink : start
}

const CLOSING = new Set('"\')]}”’»›')
const SENTENCE_END = new Set('.!?…')
/** These need no space after them. */
const WIDE_SENTENCE_END = new Set('。！？')
const WIDE_PAUSE = new Set('，、；：')
const LOWER_CASE = /^\p{Ll}/u
const MARK = /^(?:\p{M}|\u200d)/u

/**
 * Finds the end of a piece of prose in `least`…`most`: after a sentence, else a word, else a whole character, never
 * before `floor`.
 */
export function proseBreak(text: string, from: number, least: number, most: number, floor = from + 1): number {
  let word = -1
  for (let at = most; at >= floor; at--) {
    if (word !== -1 && at < least) break
    const ending = endingAt(text, at)
    if (ending === 'sentence' && at >= least) return at
    if (ending !== undefined && word === -1) word = at
  }
  return word === -1 ? wholeCharacter(text, most, floor) : word
}

/** The start of the first sentence, else of the first word. */
export function overlapStart(text: string, from: number, to: number): number {
  let word = -1
  for (let at = from; at < to; at++) {
    const ending = endingAt(text, at)
    if (ending === undefined) continue
    const start = firstNonSpace(text, at, to)
    if (ending === 'sentence') return start
    if (word === -1) word = start
  }
  if (word !== -1) return word
  let start = from
  for (let steps = 0; steps < 16 && start < to && (isLow(text, start) || joins(text, start)); steps++) start++
  return isLow(text, start) ? start + 1 : start
}

/** Finds a line end for a piece, preferably before an unindented line after an empty one; -1 if there is none. */
export function lineBreak(text: string, from: number, least: number, most: number): number {
  let best = -1
  let bestCost = Number.POSITIVE_INFINITY
  let blank = false
  for (let end = nextNewline(text, from, most); end !== -1; ) {
    const next = nextNewline(text, end + 1, most)
    const stop = next === -1 ? most : next
    const ink = firstNonSpace(text, end + 1, stop)
    if (ink < stop || next === -1) {
      const indent = Math.min(ink - end - 1, 40)
      const cost = end < least ? 1000 : indent + (blank ? 0 : 6) + (CLOSING.has(text.charAt(ink)) ? 20 : 0)
      if (cost <= bestCost && end > from) {
        best = end
        bestCost = cost
      }
      blank = false
    } else blank = true
    end = next
  }
  return best
}

/** Moves a cut before a combined character. */
function wholeCharacter(text: string, at: number, floor: number): number {
  let cut = isLow(text, at) ? at - 1 : at
  for (let steps = 0; steps < 16 && cut > floor && joins(text, cut); steps++) cut -= isLow(text, cut - 1) ? 2 : 1
  return cut >= floor && !isLow(text, cut) ? cut : isLow(text, at) ? at - 1 : at
}

/** Whether the character combines with the one before. */
const joins = (text: string, at: number): boolean =>
  MARK.test(text.slice(at, at + 2)) || text.charCodeAt(at - 1) === 0x200d

const isLow = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00

/** Whether a sentence or a word ends before this place. */
export function endingAt(text: string, at: number): 'sentence' | 'word' | undefined {
  const before = text.charCodeAt(at - 1)
  if (before > 0x3000) {
    if (WIDE_SENTENCE_END.has(text.charAt(at - 1))) return 'sentence'
    if (WIDE_PAUSE.has(text.charAt(at - 1))) return 'word'
  }
  if (!isSpace(text.charCodeAt(at)) || isSpace(before)) return undefined
  let last = at - 1
  while (last > 0 && at - last < 4 && CLOSING.has(text.charAt(last))) last--
  if (!SENTENCE_END.has(text.charAt(last))) return 'word'
  const next = firstNonSpace(text, at, Math.min(at + 100, text.length))
  return LOWER_CASE.test(text.slice(next, next + 2)) ? 'word' : 'sentence'
}

function nextNewline(text: string, from: number, to: number): number {
  for (let at = from; at < to; at++) if (text.charCodeAt(at) === 10) return at
  return -1
}
