/** White space outside ASCII, as `\s` has it. */
const WIDE_SPACES = new Set([
  0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029,
  0x202f, 0x205f, 0x3000, 0xfeff,
])

/** Whether a character is white space. */
export const isSpace = (code: number): boolean =>
  code <= 0x20 ? code === 0x20 || (code >= 9 && code <= 13) : code >= 0xa0 && WIDE_SPACES.has(code)

/** Where the first character that is no white space stands; `to` where there is none. */
export function firstInk(text: string, from: number, to: number): number {
  let at = from
  while (at < to && isSpace(text.charCodeAt(at))) at++
  return at
}

/** Where the last character that is no white space ends; `from` where there is none. */
export function lastInk(text: string, from: number, to: number): number {
  let at = to
  while (at > from && isSpace(text.charCodeAt(at - 1))) at--
  return at
}

/** Where the line that `at` stands in ends: at its `\n`, or at `to`. */
export function lineEnd(text: string, at: number, to: number): number {
  const end = text.indexOf('\n', at)
  return end === -1 || end > to ? to : end
}

/** More white space than this before a line is no indent. */
const DEEPEST_INDENT = 100

/** Where the first line that is not empty begins, with its indent; `to` where there is none. */
export function firstLine(text: string, from: number, to: number): number {
  const ink = firstInk(text, from, to)
  const start = Math.max(text.lastIndexOf('\n', ink - 1) + 1, from)
  return ink === to || ink - start > DEEPEST_INDENT ? ink : start
}
