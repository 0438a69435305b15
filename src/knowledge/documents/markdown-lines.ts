import { isSpace, lastInk, lineEnd } from './ink.ts'

const [HASH, BACKTICK, TILDE, EQUALS, DASH, STAR, PLUS] = [0x23, 0x60, 0x7e, 0x3d, 0x2d, 0x2a, 0x2b]
const LONGEST_FRONT_MATTER = 20_000

// Each of these looks at one line, from its first character that is no space, `ink`, to its `end`.

/** The marks that open or close a code block, or an empty text. */
export function fenceAt(text: string, ink: number, end: number): string {
  const mark = text.charCodeAt(ink)
  if (mark !== BACKTICK && mark !== TILDE) return ''
  const to = runEnd(text, ink, end, mark)
  if (to - ink < 3) return ''
  // Backticks further on: it is code within a line.
  if (mark === BACKTICK && lineHas(text, '`', to, end)) return ''
  return text.slice(ink, to)
}

/** A heading that begins with `#`. */
export function headingAt(
  text: string,
  ink: number,
  end: number,
): { readonly level: number; readonly text: string } | undefined {
  if (text.charCodeAt(ink) !== HASH) return undefined
  const marks = runEnd(text, ink, end, HASH)
  if (marks - ink > 6 || marks === end || !isSpace(text.charCodeAt(marks))) return undefined
  let to = lastInk(text, marks, end)
  let closing = to
  while (closing > marks && text.charCodeAt(closing - 1) === HASH) closing--
  if (closing > marks && isSpace(text.charCodeAt(closing - 1))) to = lastInk(text, marks, closing)
  const heading = text.slice(marks, to).trim()
  return heading === '' ? undefined : { level: marks - ink, text: heading }
}

/** The level of the heading that a line of `=` or `-` makes of the line above it; 0 where it is no such line. */
export function underlineLevel(text: string, ink: number, end: number): number {
  const mark = text.charCodeAt(ink)
  if (mark !== EQUALS && mark !== DASH) return 0
  const to = runEnd(text, ink, end, mark)
  if (to - ink < 2 || lastInk(text, to, end) !== to) return 0
  return mark === EQUALS ? 1 : 2
}

/** A line between parts, of `-`, `*` or `_`. */
export function isRule(text: string, ink: number, end: number): boolean {
  const mark = text[ink]
  let marks = 0
  for (let at = ink; at < end; at++) {
    if (text[at] === mark) marks++
    else if (!isSpace(text.charCodeAt(at))) return false
  }
  return marks >= 3 && (mark === '-' || mark === '*' || mark === '_')
}

/** Whether the line begins an item of a list. */
export function isItem(text: string, ink: number, end: number): boolean {
  let at = ink
  const mark = text.charCodeAt(at)
  if (mark === DASH || mark === STAR || mark === PLUS) at++
  else {
    while (at < end && at - ink < 10 && isDigit(text.charCodeAt(at))) at++
    if (at === ink || (text[at] !== '.' && text[at] !== ')')) return false
    at++
  }
  return at < end && isSpace(text.charCodeAt(at))
}

/** The line under the head of a table. */
export function isDelimiterRow(text: string, ink: number, end: number): boolean {
  let dashes = 0
  let bars = 0
  for (let at = ink; at < end; at++) {
    const mark = text[at]
    if (mark === '-') dashes++
    else if (mark === '|') bars++
    else if (mark !== ':' && !isSpace(text.charCodeAt(at))) return false
  }
  return dashes > 0 && bars > 0
}

/** Where the settings at the head of some documents end, between two lines of `---`; 0 where there are none. */
export function frontMatterEnd(text: string): number {
  if (!/^---[ \t]*\n(?!\s*\n)/.test(text.slice(0, 1000))) return 0
  const most = Math.min(text.length, LONGEST_FRONT_MATTER)
  for (let line = lineEnd(text, 0, most) + 1; line < most; ) {
    const end = lineEnd(text, line, most)
    const last = text.slice(line, lastInk(text, line, end))
    if (last === '---' || last === '...') return end
    line = end + 1
  }
  return 0
}

function runEnd(text: string, from: number, end: number, mark: number): number {
  let at = from
  while (at < end && text.charCodeAt(at) === mark) at++
  return at
}

function lineHas(text: string, mark: string, from: number, end: number): boolean {
  for (let at = from; at < end; at++) if (text[at] === mark) return true
  return false
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
