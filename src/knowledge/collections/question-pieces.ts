import { splitDocument } from '../documents/split-document.ts'
import { textDocument } from '../documents/text-document.ts'

/** A longer one is about several things, of which a model that looks at the start alone sees the first. */
const LONGEST_WHOLE = 400
const PIECE = 300
/** Each costs a vector and two searches. */
const MOST_PIECES = 32

/** What is looked for one by one: a question as it is, or a long one in pieces. */
export function questionPieces(question: string): readonly string[] {
  if (question.length <= LONGEST_WHOLE) return [question]
  const pieces = splitDocument(textDocument(question, '', 'text'), { chunkSize: PIECE, overlap: 0 })
  return pieces.slice(0, MOST_PIECES).map(({ text }) => text)
}
