import { open, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

/** A model file that can't be added. The message says why and what to do. */
export class ModelFileError extends Error {
  /** Whether the request itself is wrong: no such file, not GGUF, a name that exists. */
  readonly usage: boolean

  constructor(message: string, { usage = false, ...rest }: ErrorOptions & { readonly usage?: boolean } = {}) {
    super(message, rest)
    this.name = 'ModelFileError'
    this.usage = usage
  }
}

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
    `The disk of ${dirname(part)} is full. Free some space and run the same command again: downloads resume.`,
  )
}

function refused(part: string): ModelFileError {
  return new ModelFileError(
    `Permission denied: the file must be readable, and ${dirname(part)} writable. Set TOOLYARD_DATA to use another folder.`,
  )
}

/** Explains errors of the file system; an abort becomes its reason. */
export function inPlainWords(error: unknown, part: string, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error
  const path = 'path' in error ? String(error.path) : part
  const words = BY_CODE[error.code]?.(part, path)
  if (words !== undefined) words.cause = error
  return words ?? error
}

const inMegabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`

export async function requireRoom(file: string, bytes: number): Promise<void> {
  const folder = dirname(file)
  const { bavail, bsize } = await statfs(folder)
  if (bytes <= bavail * bsize) return
  throw new ModelFileError(
    `Not enough disk space: ${inMegabytes(bytes)} are needed, and the disk of ${folder} has ${inMegabytes(bavail * bsize)} ` +
      'left. Free some space, or set TOOLYARD_DATA to a folder on another disk.',
  )
}

const MAGIC = Buffer.from('GGUF')

/** Throws if the bytes aren't the start of a GGUF file. */
export function requireMagic(head: Uint8Array): void {
  if (MAGIC.equals(head.subarray(0, MAGIC.length))) return
  const seen = JSON.stringify(Buffer.from(head.subarray(0, 16)).toString('latin1'))
  throw new ModelFileError(`This is not a GGUF file: it starts with ${seen}. Use the URL of the GGUF file itself.`, {
    usage: true,
  })
}

export async function requireGguf(file: string): Promise<void> {
  await using handle = await open(file, 'r')
  const head = Buffer.alloc(16)
  const { bytesRead } = await handle.read(head, 0, head.length, 0)
  requireMagic(head.subarray(0, bytesRead))
}
