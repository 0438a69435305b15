import { hash } from 'node:crypto'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { Block, BlockKind, ReadDocument } from './document.ts'
import { firstLine, firstNonSpace, lastNonSpace, lineBreak, overlapStart, proseBreak } from './text-scan.ts'

interface SplitOptions {
  readonly chunkSize?: number
  /** Characters of prose repeated from the previous chunk; a tenth of `chunkSize` by default. */
  readonly overlap?: number
}

/** About 190 tokens of English or 260 of code: small embedding models ignore everything after 256. */
export const DEFAULT_CHUNK_SIZE = 800
export const MIN_CHUNK_SIZE = 50
export const MAX_CHUNK_SIZE = 32_000

/** Validates the options and adds defaults. */
export function splitOptions({ chunkSize = DEFAULT_CHUNK_SIZE, overlap }: SplitOptions = {}): Required<SplitOptions> {
  if (!Number.isInteger(chunkSize) || chunkSize < MIN_CHUNK_SIZE || chunkSize > MAX_CHUNK_SIZE) {
    throw invalid('chunk_size', chunkSize, MIN_CHUNK_SIZE, MAX_CHUNK_SIZE)
  }
  const most = Math.floor(chunkSize / 4)
  const repeated = overlap ?? Math.floor(chunkSize / 10)
  if (!Number.isInteger(repeated) || repeated < 0 || repeated > most) throw invalid('overlap', repeated, 0, most)
  return { chunkSize, overlap: repeated }
}

function invalid(name: string, value: number, least: number, most: number): ToolExecutionError {
  const message = `Invalid parameters: ${name} must be an integer from ${least} to ${most} characters, not ${value}`
  return new ToolExecutionError('INVALID_PARAMETERS', message)
}

export interface Piece {
  readonly position: number
  readonly text: string
  readonly start: number
  readonly end: number
  /** The headings above it, joined by ` › `. */
  readonly heading: string
}

/** Shorter sections are merged with the next one. */
const SMALL = 1 / 5

/**
 * Splits a document along its structure. Small sections are merged, code and tables stay whole, prose is cut after
 * sentences.
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

/** Merges two spans that belong together. */
function together(a: Span, b: Span, size: number): Span | undefined {
  if (!a.whole || !b.whole || b.end - a.start > size) return undefined
  const { start } = a
  // A heading without text belongs to what follows.
  if (a.bare) return { ...b, start }
  const counted = a.path === b.path && a.nth > 0
  if (counted && a.record && b.record) return { ...a, end: b.end, last: b.last }
  // Records don't contain their heading.
  if (a.end - start >= size * SMALL || (!counted && (a.record || b.record))) return undefined
  if (counted) return { ...a, end: b.end, last: b.last }
  const common = commonStart(a.path, b.path)
  // Only within the same part of the document.
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

/** A stretch of text that becomes a chunk, or part of one. */
interface Span {
  readonly start: number
  readonly end: number
  readonly path: readonly string[]
  readonly nth: number
  /** The last page, row or item, if several were merged. */
  readonly last: number
  readonly whole: boolean
  readonly bare: boolean
  readonly record: boolean
  /** The number of headings that a merged span must share. */
  readonly shared: number
}

/** Packs the blocks of a section into spans of about equal length. */
function sectionSpans(text: string, section: readonly Block[], sizes: CutSizes, onSpan: (span: Span) => void): void {
  const first = section[0] as Block
  const end = section.at(-1)?.end ?? first.end
  const { path, nth, start } = first
  const span = { path, nth, last: nth, record: first.kind === 'record' }
  if (end - start <= sizes.size) {
    const bare = section.length === 1 && first.kind === 'heading'
    onSpan({ ...span, start, end, whole: true, bare, shared: path.length - 1 })
    return
  }
  const packing = new Packing(text, start, end, sizes, (from, to) =>
    onSpan({ ...span, start: from, end: to, whole: false, bare: false, shared: 0 }),
  )
  for (const block of section) packing.add(block)
  packing.close()
}

/** Packs the blocks of a section that is longer than a chunk. */
class Packing {
  readonly #text: string
  readonly #sectionEnd: number
  readonly #sizes: CutSizes
  readonly #onSpan: (start: number, end: number) => void
  /** The length of equal spans. */
  readonly #aim: number
  #start = 0
  /** -1 if there is no span. */
  #end = -1
  #onlyHeading = false

  constructor(text: string, start: number, end: number, sizes: CutSizes, onSpan: (start: number, end: number) => void) {
    this.#text = text
    this.#sectionEnd = end
    this.#sizes = sizes
    this.#onSpan = onSpan
    this.#aim = (end - start) / Math.ceil((end - start) / sizes.size)
  }

  add(block: Block): void {
    const isHeading = block.kind === 'heading'
    if (this.#end !== -1 && this.#fits(block.end)) {
      this.#end = block.end
      this.#onlyHeading &&= isHeading
      return
    }
    const tooLong = block.end - block.start > this.#sizes.size
    const mayCut = tooLong || block.kind === 'prose' || block.kind === 'list'
    if (this.#end !== -1 && this.#onlyHeading && mayCut) this.#cut(this.#start, block)
    else {
      this.close()
      if (tooLong) this.#cut(block.start, block)
      else {
        this.#start = block.start
        this.#end = block.end
      }
    }
    this.#onlyHeading = isHeading && !tooLong
  }

  close(): void {
    if (this.#end !== -1) this.#onSpan(this.#start, this.#end)
    this.#end = -1
  }

  #fits(end: number): boolean {
    const [now, then] = [this.#end - this.#start, end - this.#start]
    if (then > this.#sizes.size) return false
    // Headings stay with what follows, and the last words of a section with what precedes.
    if (this.#onlyHeading || this.#sectionEnd - this.#start <= this.#sizes.size) return true
    return then <= this.#aim || then - this.#aim < this.#aim - now
  }

  /** `from` is before the block if its heading is included. The last piece can grow further. */
  #cut(from: number, block: Block): void {
    this.#end = -1
    cutBlock(this.#text, block.kind, from, block.start, block.end, this.#sizes, (start, end) => {
      this.close()
      this.#start = start
      this.#end = end
    })
  }
}

interface CutSizes {
  readonly size: number
  readonly overlap: number
}

/**
 * Cuts text that is longer than a chunk into pieces of about equal length. The first includes text after `head`, if
 * possible.
 */
function cutBlock(
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
    // Ending at a function's end is worth a shorter piece.
    const least = Math.max(start + aim * (kind === 'code' ? 0.35 : 0.6), floor)
    const most = start + Math.min(size, Math.ceil(aim * 1.2))
    let end = ofLines ? lineBreak(text, start, least, most) : -1
    const inLine = end === -1
    if (inLine) end = proseBreak(text, start, least, most, floor)
    onPiece(start, lastNonSpace(text, start, end))
    const next = (ofLines && !inLine ? firstLine : firstNonSpace)(text, end, to)
    floor = end + 1
    const again = kind === 'prose' && overlap > 0 ? overlapStart(text, Math.max(start + 1, end - overlap), end) : end
    // The overlap must leave room for new text.
    start = again < end && next - again < size / 2 ? again : next
  }
  const end = lastNonSpace(text, start, to)
  if (end > start) onPiece(start, end)
}

const HEX_DIGITS = 32
/** Increase it when documents are split differently: they are then ingested again. */
const SPLITTER = 1

export const documentId = (source: string): string => short(source)

/** Identifies a version by text, metadata and split options. */
export function contentVersion(
  text: string,
  metadata: Readonly<Record<string, string>> = {},
  options: SplitOptions = {},
): string {
  const { chunkSize, overlap } = splitOptions(options)
  const known = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1))
  return short(JSON.stringify([SPLITTER, chunkSize, overlap, known, short(text)]))
}

const short = (text: string): string => hash('sha256', text, 'hex').slice(0, HEX_DIGITS)
