import { promisify } from 'node:util'
import { gunzip, gzipSync } from 'node:zlib'

/** A package that can't be used. The message says why. */
export class PackageError extends Error {
  override readonly name = 'PackageError'
}

/** The contents of a package by path. */
export type Files = ReadonlyMap<string, Buffer>

export const MANIFEST = 'toolyard.manifest.json'
const MB = 1024 * 1024
export const MAX_PACKED_BYTES = 20 * MB
const MAX_BYTES = 64 * MB
const MAX_FILES = 1_000

/** Folders have no subfolders, and no other name is accepted: a path can't lead out of the package. */
const PATH =
  /^(?:package\.json|toolyard\.manifest\.json|README\.md|CHANGELOG\.md|LICENSE(?:\.md)?|(?:tools|suites|mocks)\/[A-Za-z0-9_][A-Za-z0-9._-]{0,60}\.json|prompts\/[A-Za-z0-9_][A-Za-z0-9._-]{0,60}\.(?:md|txt)|handlers\/[A-Za-z0-9_][A-Za-z0-9._-]{0,60}\.(?:m?js|wasm))$/

export const isPackagePath = (path: string): boolean => PATH.test(path)

/** Collects files within the limits. */
export class FileCollector {
  readonly files = new Map<string, Buffer>()
  readonly #folded = new Set<string>()
  #bytes = 0

  add(path: string, content: Buffer): void {
    if (!isPackagePath(path)) {
      throw new PackageError(
        `It has the file ${quote(path)}: a package has package.json, README.md, LICENSE, CHANGELOG.md and files in tools, handlers, prompts, suites and mocks`,
      )
    }
    if (this.#folded.has(path.toLowerCase())) throw new PackageError(`It has the file ${quote(path)} twice`)
    this.#folded.add(path.toLowerCase())
    this.#bytes += content.length
    if (this.#bytes > MAX_BYTES) throw new PackageError(`It has more than ${MAX_BYTES / MB} MB`)
    if (this.#folded.size > MAX_FILES) throw new PackageError(`It has more than ${MAX_FILES} files`)
    this.files.set(path, content)
  }
}

export const quote = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)

const BLOCK = 512
const ROOT = 'package/'
/** Writers fill the last record of 20 blocks. */
const MAX_PADDING = 20 * BLOCK
/** The time that npm writes: equal files make equal tarballs. */
const MTIME = 499_162_500
const OTHER_ENTRIES: Readonly<Record<string, string>> = {
  1: 'a hard link',
  2: 'a symbolic link',
  3: 'a device',
  4: 'a device',
  5: 'a folder',
  6: 'a pipe',
}

/** An npm tarball: files in `package/`, gzipped. */
export function writeTarball(files: Files): Buffer {
  const blocks: Buffer[] = []
  for (const [path, content] of [...files].sort(([one], [other]) => (one < other ? -1 : 1))) {
    blocks.push(headerOf(path, content.length), content, Buffer.alloc(paddingOf(content.length)))
  }
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 })
}

const paddingOf = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK
const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`

function headerOf(path: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK)
  header.write(ROOT + path, 0)
  header.write(octal(0o644, 8) + octal(0, 8) + octal(0, 8) + octal(size, 12) + octal(MTIME, 12), 100)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  header.write(`${octal(checksumOf(header), 7)} `, 148)
  return header
}

/** The sum of all bytes, with spaces in the place of the sum itself. */
function checksumOf(header: Buffer): number {
  let sum = 8 * 0x20
  for (const [at, byte] of header.entries()) if (at < 148 || at >= 156) sum += byte
  return sum
}

/**
 * Reads a tarball of `writeTarball`. Everything else that tar has (links, devices, folders, extended headers) is refused:
 * the file may come from anyone.
 */
export async function readTarball(packed: Buffer): Promise<Files> {
  if (packed.length > MAX_PACKED_BYTES) throw new PackageError(`It is larger than ${MAX_PACKED_BYTES / MB} MB`)
  const tar = await unpack(packed)
  const collected = new FileCollector()
  let at = 0
  for (; at + BLOCK <= tar.length && tar[at] !== 0; ) {
    const { path, size } = readHeader(tar.subarray(at, at + BLOCK))
    const start = at + BLOCK
    if (start + size > tar.length) throw new PackageError('It ends in the middle of a file')
    collected.add(path, tar.subarray(start, start + size))
    at = start + size + paddingOf(size)
  }
  const rest = tar.subarray(at)
  if (rest.length < 2 * BLOCK || rest.length > MAX_PADDING || rest.some((byte) => byte !== 0)) {
    throw new PackageError('It does not end like a tar archive')
  }
  return collected.files
}

/** Stops at the limit, whatever the size of the rest. */
async function unpack(packed: Buffer): Promise<Buffer> {
  try {
    return await promisify(gunzip)(packed, { maxOutputLength: MAX_BYTES })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new PackageError(`It unpacks to more than ${MAX_BYTES / MB} MB`)
    }
    throw new PackageError('It is not a gzipped tar archive', { cause: error })
  }
}

function readHeader(header: Buffer): { readonly path: string; readonly size: number } {
  const text = (start: number, length: number): string => {
    const end = header.indexOf(0, start)
    return header.toString('latin1', start, end < 0 || end > start + length ? start + length : end)
  }
  const name = text(0, 100)
  if (header.toString('latin1', 257, 265) !== 'ustar\x0000' || readOctal(text(148, 8)) !== checksumOf(header)) {
    throw new PackageError('It is not a gzipped tar archive')
  }
  const type = header.toString('latin1', 156, 157)
  if (type !== '0')
    throw new PackageError(`${quote(name)} is ${OTHER_ENTRIES[type] ?? 'an extended header'}, not a file`)
  if (text(157, 100) !== '' || text(345, 155) !== '') throw new PackageError(`${quote(name)} has a long name or a link`)
  const size = readOctal(text(124, 12))
  if (!name.startsWith(ROOT) || size === undefined) throw new PackageError(`It has the entry ${quote(name)}`)
  return { path: name.slice(ROOT.length), size }
}

const readOctal = (text: string): number | undefined =>
  /^[0-7]{1,11} {0,2}$/.test(text) ? Number.parseInt(text, 8) : undefined
