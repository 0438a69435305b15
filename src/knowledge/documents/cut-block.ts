import { lineBreak, overlapStart, proseBreak } from './breaks.ts'
import type { BlockKind } from './document.ts'
import { firstInk, firstLine, lastInk } from './ink.ts'

export interface CutSizes {
  /** Characters that a piece has at most. */
  readonly size: number
  /** Characters that a piece of prose may repeat of the one before. */
  readonly overlap: number
}

/**
 * Cuts a stretch of text that is longer than a piece, and tells of each piece. Pieces are about as long as each other.
 * The first one holds something of what is after `head`, if it can be.
 */
export function cutBlock(
  text: string,
  kind: BlockKind,
  from: number,
  head: number,
  to: number,
  { size, overlap }: CutSizes,
  onPiece: (start: number, end: number) => void,
): void {
  const ofLines = kind === 'code' || kind === 'list' || kind === 'table' || kind === 'record'
  let start = from
  let floor = (head - from < size / 2 ? head : from) + 1
  while (to - start > size) {
    const aim = (to - start) / Math.ceil((to - start) / size)
    // The end of a function is worth a shorter piece.
    const least = Math.max(start + aim * (kind === 'code' ? 0.35 : 0.6), floor)
    const most = start + Math.min(size, Math.ceil(aim * 1.2))
    let end = ofLines ? lineBreak(text, start, least, most) : -1
    const inLine = end === -1
    if (inLine) end = proseBreak(text, start, least, most, floor)
    onPiece(start, lastInk(text, start, end))
    const next = (ofLines && !inLine ? firstLine : firstInk)(text, end, to)
    floor = end + 1
    const again = kind === 'prose' && overlap > 0 ? overlapStart(text, Math.max(start + 1, end - overlap), end) : end
    // What is repeated must leave room for something new.
    start = again < end && next - again < size / 2 ? again : next
  }
  const end = lastInk(text, start, to)
  if (end > start) onPiece(start, end)
}
