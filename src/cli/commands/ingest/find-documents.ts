import type { Dirent } from 'node:fs'
import { glob, lstat, readdir, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'

export interface FoundFile {
  readonly path: string
  readonly bytes: number
  /** Whether the command line names this file. A named file that isn't a document is an error. */
  readonly named: boolean
}

export interface NotFound {
  readonly path: string
  readonly problem: string
}

const PATTERN = /[*?[\]{}]/
/**
 * Finds the files, the files in folders, and the files that match patterns. Hidden files, `node_modules` and links are
 * skipped unless the command line names them, so there are no cycles and no files from other places.
 */
export async function findDocuments(
  words: readonly string[],
  signal?: AbortSignal,
): Promise<{ readonly files: readonly FoundFile[]; readonly missing: readonly NotFound[] }> {
  const files = new Map<string, FoundFile>()
  const missing: NotFound[] = []
  const take = (file: FoundFile) => {
    if (file.named || !files.has(file.path)) files.set(file.path, file)
  }
  for (const word of words) {
    signal?.throwIfAborted()
    try {
      const found = await stat(word)
      if (!found.isDirectory()) take({ path: plain(word), bytes: found.size, named: true })
      else await walk(plain(word), take, missing, signal)
    } catch (error) {
      const pattern = PATTERN.test(word) && codeOf(error) === 'ENOENT'
      if (!pattern) missing.push({ path: word, problem: reasonOf(error) })
      else if (!(await findMatching(word, take, missing, signal))) {
        missing.push({ path: word, problem: 'no file matches' })
      }
    }
  }
  return { files: [...files.values()], missing }
}

/** Returns whether a file or folder matches. */
async function findMatching(
  pattern: string,
  take: (file: FoundFile) => void,
  missing: NotFound[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const named = new Set(pattern.split(/[\\/]/))
  const skipped = (path: string) => path.split(/[\\/]/).some((part) => isSkipped(part) && !named.has(part))
  let any = false
  for await (const path of glob(pattern, { exclude: skipped })) {
    signal?.throwIfAborted()
    if (skipped(path)) continue
    const found = await lstat(path)
    if (found.isDirectory()) {
      await walk(path, take, missing, signal)
    } else if (found.isFile()) {
      take({ path, bytes: found.size, named: false })
    } else continue
    any = true
  }
  return any
}

/** Sorted by name, so that a resumed run has the same order. */
async function walk(
  folder: string,
  take: (file: FoundFile) => void,
  missing: NotFound[],
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted()
  let entries: Dirent[]
  try {
    entries = await readdir(folder, { withFileTypes: true })
  } catch (error) {
    missing.push({ path: folder, problem: reasonOf(error) })
    return
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    if (isSkipped(entry.name)) continue
    const path = folder === '.' ? entry.name : join(folder, entry.name)
    if (entry.isDirectory()) await walk(path, take, missing, signal)
    else if (entry.isFile()) {
      // A file that has disappeared is reported when it is read.
      const bytes = await stat(path).then(
        ({ size }) => size,
        () => 0,
      )
      take({ path, bytes, named: false })
    }
  }
}

const isSkipped = (name: string): boolean =>
  name === 'node_modules' || (name.startsWith('.') && name !== '.' && name !== '..')

/** Removes `./` and a final `/`, so that each file has one path. */
const plain = (word: string): string => {
  const joined = join(word)
  return joined.length > 1 && joined.endsWith(sep) ? joined.slice(0, -1) : joined
}

const codeOf = (error: unknown): unknown => (Object(error) as { code?: unknown }).code

function reasonOf(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no such file or folder'
  if (typeof code !== 'string') throw error
  return `it cannot be read (${code})`
}
