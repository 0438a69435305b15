/** Whether a character is white space, as `\s` has it. */
export function isSpace(code: number): boolean {
  if (code <= 0x20) return code === 0x20 || (code >= 9 && code <= 13)
  if (code < 0xa0) return false
  return (
    code === 0xa0 ||
    code === 0x1680 ||
    (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x3000 ||
    code === 0xfeff
  )
}

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
