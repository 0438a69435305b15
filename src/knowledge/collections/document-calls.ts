import type { Piece } from '../documents/split-document.ts'
import { MAX_CHUNKS } from './ingest-part.ts'

/** A character has up to six bytes in JSON, and a call is limited to 1 MB. */
const MAX_CHARACTERS = 100_000

interface DocumentCall {
  readonly content: string
  readonly chunks: readonly Piece[]
}

/** Splits a document into calls with as many chunks as fit. */
export function documentCalls(text: string, pieces: readonly Piece[]): DocumentCall[] {
  const calls: DocumentCall[] = []
  for (let from = 0; from < pieces.length; ) {
    const to = endOf(pieces, from)
    const chunks = pieces.slice(from, to)
    calls.push({ content: text.slice(chunks[0]?.start, chunks.at(-1)?.end), chunks })
    from = to
  }
  return calls
}

/** The index of the first piece that doesn't fit into the call. */
function endOf(pieces: readonly Piece[], from: number): number {
  const { start } = pieces[from] as Piece
  let to = from + 1
  while (to < pieces.length && to - from < MAX_CHUNKS && (pieces[to] as Piece).end - start <= MAX_CHARACTERS) to++
  return to
}
