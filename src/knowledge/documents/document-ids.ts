import { hash } from 'node:crypto'
import { type SplitOptions, splitOptions } from './split-options.ts'

const HEX_DIGITS = 32
/** Counted up when the same document is cut in other ways than before, so that it is taken in again. */
const SPLITTER = 1

/** The id of the document that stands at `source`: the same whatever it says. */
export const documentId = (source: string): string => short(source)

/** Tells versions of a document apart: by its text, what is known about it, and how it is cut. */
export function contentVersion(
  text: string,
  metadata: Readonly<Record<string, string>> = {},
  options: SplitOptions = {},
): string {
  const { chunkSize, overlap } = splitOptions(options)
  const known = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1))
  return short(JSON.stringify([SPLITTER, chunkSize, overlap, known, short(text)]))
}

/** Tells texts of chunks apart, so that the same text gets its vector once. */
export const chunkHash = (text: string): string => short(text)

const short = (text: string): string => hash('sha256', text, 'hex').slice(0, HEX_DIGITS)
