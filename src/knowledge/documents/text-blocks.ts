import type { Block } from './document.ts'
import { firstInk, lastInk } from './ink.ts'

const NO_PATH: readonly string[] = []
const PAGE: readonly string[] = ['page']

/** The paragraphs of plain text, which empty lines stand between, and its pages where form feeds do. */
export function textBlocks(text: string, paged = text.includes('\f')): Block[] {
  const blocks: Block[] = []
  const path = paged ? PAGE : NO_PATH
  let page = paged ? 1 : 0
  let start = -1
  let inkEnd = 0
  let newline = -1
  let feed = paged ? -1 : text.length
  for (let line = 0; line <= text.length; ) {
    if (newline < line) newline = next(text, '\n', line)
    if (feed < line) feed = next(text, '\f', line)
    const end = Math.min(newline, feed)
    const ink = firstInk(text, line, end)
    if (ink < end) {
      if (start === -1) start = ink
      inkEnd = end
    }
    if (start !== -1 && (ink === end || end === feed)) {
      blocks.push({ kind: 'prose', start, end: lastInk(text, start, inkEnd), path, nth: page })
      start = -1
    }
    if (paged && end === feed) page++
    line = end + 1
  }
  return blocks
}

/** Where a character comes next; the end of the text where it does not. */
function next(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from)
  return at === -1 ? text.length : at
}
