import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { contentVersion } from '../../knowledge/documents/split-document.ts'

/** What a document is kept with, besides its own text. */
export interface KeptWith {
  readonly source: string
  readonly metadata: Readonly<Record<string, string>>
  readonly chunkSize: number
}

/** Tells versions of a file apart by its bytes, so that one that has not changed need not be read as a document. */
export async function fileVersion(
  path: string,
  { source, metadata, chunkSize }: KeptWith,
  signal: AbortSignal,
): Promise<string> {
  const bytes = createHash('sha256')
  for await (const part of createReadStream(path, { signal })) bytes.update(part)
  const version = contentVersion(bytes.digest('hex'), metadata, { chunkSize })
  return hash('sha256', JSON.stringify([version, source]), 'hex').slice(0, 32)
}
