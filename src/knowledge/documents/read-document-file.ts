import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { ReadDocument } from './document.ts'
import { checkHead, type ReadOptions, readDocument } from './read-document.ts'
import { UnreadableDocument } from './unreadable-document.ts'

const HEAD_BYTES = 4096
/** To open a pipe without these is to wait for whoever writes to it. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/** Reads a file as a document. What is too large, or no document by how it begins, is refused before it is read. */
export async function readDocumentFile(path: string, options: ReadOptions): Promise<ReadDocument> {
  const { name } = options
  const file = await opened(path, name)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new UnreadableDocument(name, 'no-file', 'it is no file')
    checkHead(name, await bytesOf(file, Math.min(stats.size, HEAD_BYTES)), stats.size, options.mediaType)
    return await readDocument(await bytesOf(file, stats.size), options)
  } finally {
    await file.close()
  }
}

async function opened(path: string, name: string): Promise<FileHandle> {
  try {
    return await open(path, FLAGS)
  } catch (error) {
    const { code } = Object(error) as { code?: unknown }
    const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be opened (${code})`
    throw new UnreadableDocument(name, 'no-file', why, { cause: error })
  }
}

/** So many bytes from the start, or fewer where the file has become shorter. */
async function bytesOf(file: FileHandle, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await file.read(bytes, read, length - read, read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return bytes.subarray(0, read)
}
