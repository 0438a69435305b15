import { dirname } from 'node:path'
import { ModelFileError } from './model-file-error.ts'

/** What the system calls it, and what to do. */
const BY_CODE: Readonly<Record<string, (part: string, path: string) => ModelFileError>> = {
  ENOSPC: full,
  EDQUOT: full,
  EACCES: refused,
  EPERM: refused,
  EROFS: refused,
  ENOENT: (_, path) => new ModelFileError(`${path}: there is no such file. Check the path.`, { usage: true }),
  EISDIR: () => new ModelFileError('That is a folder. Name the GGUF file in it.', { usage: true }),
}

function full(part: string): ModelFileError {
  return new ModelFileError(
    `The disk of ${dirname(part)} is full. Make room and run the same command again: a download goes on where it stopped.`,
  )
}

function refused(part: string): ModelFileError {
  return new ModelFileError(
    `The system does not allow it: the file must be readable, and ${dirname(part)} writable. TOOLYARD_DATA names another folder.`,
  )
}

/** The error to show: an abort as its reason, what the system refused as a sentence, anything else as it is. */
export function inPlainWords(error: unknown, part: string, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error
  const path = 'path' in error ? String(error.path) : part
  const words = BY_CODE[error.code]?.(part, path)
  if (words !== undefined) words.cause = error
  return words ?? error
}
