import { MAX_CHUNKS } from '../../knowledge/collections/ingest-part.ts'
import type { Piece } from '../../knowledge/documents/split-document.ts'

/** One character is at most six bytes of JSON, and a call may have 1 MB of it. */
const MAX_CHARACTERS = 100_000

/** What one call of `ingest_docs` stores of a document. */
export interface DocumentCall {
  readonly content: string
  readonly chunks: readonly Piece[]
}

/** Divides a document into calls, each with as many chunks as one call takes. */
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

/** The first piece that no longer fits into the call that begins with `from`. */
function endOf(pieces: readonly Piece[], from: number): number {
  const { start } = pieces[from] as Piece
  let to = from + 1
  while (to < pieces.length && to - from < MAX_CHUNKS && (pieces[to] as Piece).end - start <= MAX_CHARACTERS) to++
  return to
}
