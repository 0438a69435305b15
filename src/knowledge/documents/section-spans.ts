import { type CutSizes, cutBlock } from './cut-block.ts'
import type { Block } from './document.ts'

/** A stretch of a document that becomes a piece, or a part of one. */
export interface Span {
  readonly start: number
  readonly end: number
  readonly path: readonly string[]
  readonly nth: number
  /** Where parts that are counted have come together: the last of them. */
  readonly last: number
  /** Whether it holds all of its section. */
  readonly whole: boolean
  /** Whether it holds a heading and nothing else. */
  readonly bare: boolean
  readonly record: boolean
  /** How many headings it must share with what it is put together with: all but its own. */
  readonly shared: number
}

/** Puts the blocks of one section together, to stretches of at most a piece's length and of about equal length. */
export function sectionSpans(
  text: string,
  section: readonly Block[],
  sizes: CutSizes,
  onSpan: (span: Span) => void,
): void {
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

/** Fills one stretch after the other with the blocks of a section that is longer than a piece. */
class Packing {
  readonly #text: string
  readonly #sectionEnd: number
  readonly #sizes: CutSizes
  readonly #onSpan: (start: number, end: number) => void
  /** The length that stretches have if all are as long as each other. */
  readonly #aim: number
  #start = 0
  /** Of the stretch that is being filled; -1 where there is none. */
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
    // A heading stays with what follows, and the last words of a section with what comes before.
    if (this.#onlyHeading || this.#sectionEnd - this.#start <= this.#sizes.size) return true
    return then <= this.#aim || then - this.#aim < this.#aim - now
  }

  /** Cuts a block that begins at `from`, or before, where its heading stands; its last piece can be filled further. */
  #cut(from: number, block: Block): void {
    this.#end = -1
    cutBlock(this.#text, block.kind, from, block.start, block.end, this.#sizes, (start, end) => {
      this.close()
      this.#start = start
      this.#end = end
    })
  }
}
