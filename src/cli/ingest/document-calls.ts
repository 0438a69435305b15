import { type Cut, type CutPiece, MOST_CHUNKS } from '../../knowledge/collections/ingest-part.ts'
import type { Piece } from '../../knowledge/documents/split-document.ts'

/** One character is at most six bytes of JSON, and a call may have 1 MB of it; the headings have their place too. */
const MOST_CHARACTERS = 100_000
const MOST_HEADINGS = 50_000

/** What one call of `ingest_docs` takes of a document. */
export interface DocumentCall {
  readonly content: string
  readonly cut: Cut
}

/** The calls that bring in a document, each with as many of its pieces as one takes. */
export function documentCalls(text: string, pieces: readonly Piece[]): (() => DocumentCall)[] {
  const calls: (() => DocumentCall)[] = []
  for (let from = 0; from < pieces.length; ) {
    const to = endOf(pieces, from)
    const group = pieces.slice(from, to)
    // Made when it is sent: the texts of a large document are not held twice.
    calls.push(() => callOf(text, group))
    from = to
  }
  return calls
}

function endOf(pieces: readonly Piece[], from: number): number {
  const { start } = pieces[from] as Piece
  let headings = 0
  let to = from
  for (; to < pieces.length && to - from < MOST_CHUNKS; to++) {
    const { end, heading } = pieces[to] as Piece
    headings += heading.length
    if (to > from && (end - start > MOST_CHARACTERS || headings > MOST_HEADINGS)) break
  }
  return to
}

function callOf(text: string, pieces: readonly Piece[]): DocumentCall {
  const [first, last] = [pieces[0] as Piece, pieces.at(-1) as Piece]
  const offset = first.start
  return {
    content: text.slice(offset, last.end),
    cut: {
      position: first.position,
      offset,
      pieces: pieces.map(({ start, end, heading }): CutPiece => [start - offset, end - offset, heading]),
    },
  }
}
