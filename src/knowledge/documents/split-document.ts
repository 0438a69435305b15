import type { Block, ReadDocument } from './document.ts'
import { type Span, sectionSpans } from './section-spans.ts'
import { type SplitOptions, splitOptions } from './split-options.ts'

/** A piece of a document: `document.text.slice(start, end) === text`. */
export interface Piece {
  /** In the document, from 0. */
  readonly position: number
  readonly text: string
  readonly start: number
  readonly end: number
  /** The headings that it stands under, joined by ` › `; empty where there are none. */
  readonly heading: string
}

/** Sections shorter than this share of a piece are put together with the next one. */
const SMALL = 1 / 5

/**
 * Cuts a document at its structure. A piece holds one section, or a part of one; small ones come together. Code and
 * tables stay whole where they fit, running text that does not is cut at the ends of sentences.
 */
export function splitDocument(
  { text, blocks }: Pick<ReadDocument, 'text' | 'blocks'>,
  options?: SplitOptions,
): Piece[] {
  const { chunkSize: size, overlap } = splitOptions(options)
  const pieces: Piece[] = []
  const put = ({ start, end, path, nth, last }: Span) => {
    pieces.push({
      position: pieces.length,
      text: text.slice(start, end),
      start,
      end,
      heading: headingOf(path, nth, last),
    })
  }
  let held: Span | undefined
  const take = (span: Span) => {
    const both = held && together(held, span, size)
    if (held !== undefined && both === undefined) put(held)
    held = both ?? span
  }
  for (let from = 0; from < blocks.length; ) {
    const to = sectionEnd(blocks, from)
    sectionSpans(text, blocks.slice(from, to), { size, overlap }, take)
    from = to
  }
  if (held !== undefined) put(held)
  return pieces
}

function sectionEnd(blocks: readonly Block[], from: number): number {
  const { path, nth } = blocks[from] as Block
  let to = from + 1
  while (to < blocks.length && blocks[to]?.path === path && blocks[to]?.nth === nth) to++
  return to
}

/** Both as one, where they go together. */
function together(a: Span, b: Span, size: number): Span | undefined {
  if (!a.whole || !b.whole || b.end - a.start > size) return undefined
  const { start } = a
  // A heading with nothing under it stands over what comes next.
  if (a.bare) return { ...b, start }
  const counted = a.path === b.path && a.nth > 0
  if (counted && a.record && b.record) return { ...a, end: b.end, last: b.last }
  // Records do not say themselves what they stand under, as sections do in their first line.
  if (a.end - start >= size * SMALL || (!counted && (a.record || b.record))) return undefined
  if (counted) return { ...a, end: b.end, last: b.last }
  const common = commonStart(a.path, b.path)
  // Only with what stands in the same part of the document.
  if (common.length < a.shared) return undefined
  return { ...a, end: b.end, path: common, nth: 0, last: 0, shared: common.length }
}

function commonStart(a: readonly string[], b: readonly string[]): readonly string[] {
  let same = 0
  while (same < a.length && same < b.length && a[same] === b[same]) same++
  return same === a.length ? a : a.slice(0, same)
}

function headingOf(path: readonly string[], nth: number, last: number): string {
  if (nth === 0) return path.join(' › ')
  const unit = path.at(-1) ?? ''
  return [...path.slice(0, -1), last > nth ? `${unit}s ${nth}–${last}` : `${unit} ${nth}`].join(' › ')
}
