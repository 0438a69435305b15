import { isSpace, lastInk, lineEnd } from './ink.ts'

const HASH = 0x23
const MAX_FRONT_MATTER = 20_000
// Each of these is linear in the length of a line, and is applied to a line without its indent.
/** Backticks further on in the line make it inline code. */
const FENCE = /^(?:`{3,}(?=[^`]*$)|~{3,})/
const UNDERLINE = /^(?:={2,}|-{2,})\s*$/
// Two patterns, because a repeated group runs out of stack on a long line.
const RULE_START = /^([-*_])\s*\1\s*\1/
const RULE = /^(?:[-\s]+|[*\s]+|[_\s]+)$/
const ITEM = /^(?:[-*+]|\d{1,10}[.)])\s/
const DELIMITER_ROW = /^[-|:\s]+$/

/** The marks that open or close a code block, or an empty string. */
export const fenceAt = (text: string, ink: number, end: number): string => FENCE.exec(text.slice(ink, end))?.[0] ?? ''

/** A heading that begins with `#`. */
export function headingAt(
  text: string,
  ink: number,
  end: number,
): { readonly level: number; readonly text: string } | undefined {
  if (text.charCodeAt(ink) !== HASH) return undefined
  let marks = ink
  while (marks < end && text.charCodeAt(marks) === HASH) marks++
  if (marks - ink > 6 || marks === end || !isSpace(text.charCodeAt(marks))) return undefined
  let to = lastInk(text, marks, end)
  let closing = to
  while (closing > marks && text.charCodeAt(closing - 1) === HASH) closing--
  if (closing > marks && isSpace(text.charCodeAt(closing - 1))) to = lastInk(text, marks, closing)
  const heading = text.slice(marks, to).trim()
  return heading === '' ? undefined : { level: marks - ink, text: heading }
}

/** The level of the heading that a line of `=` or `-` makes of the line above it, or 0. */
export function underlineLevel(text: string, ink: number, end: number): number {
  const line = text.slice(ink, end)
  if (!UNDERLINE.test(line)) return 0
  return line.startsWith('=') ? 1 : 2
}

/** Whether the line begins an item of a list, and isn't a thematic break such as `- - -`. */
export function isItem(text: string, ink: number, end: number): boolean {
  const line = text.slice(ink, end)
  return ITEM.test(line) && !(RULE_START.test(line) && RULE.test(line))
}

/** Whether the line is the one under the head of a table. */
export function isDelimiterRow(text: string, ink: number, end: number): boolean {
  const line = text.slice(ink, end)
  return DELIMITER_ROW.test(line) && line.includes('-') && line.includes('|')
}

/** Where the settings at the head of some documents end, between two lines of `---`; 0 where there are none. */
export function frontMatterEnd(text: string): number {
  if (!/^---[ \t]*\n(?!\s*\n)/.test(text.slice(0, 1000))) return 0
  const most = Math.min(text.length, MAX_FRONT_MATTER)
  for (let line = lineEnd(text, 0, most) + 1; line < most; ) {
    const end = lineEnd(text, line, most)
    const last = text.slice(line, lastInk(text, line, end))
    if (last === '---' || last === '...') return end
    line = end + 1
  }
  return 0
}
