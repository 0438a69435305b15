import type { Dirent } from 'node:fs'
import { glob, lstat, readdir, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** A file that is to be read. */
export interface FoundFile {
  readonly path: string
  readonly bytes: number
  /** Whether it was asked for by its own name: one that is no document is a fault then. */
  readonly named: boolean
}

/** What was asked for, and cannot be had. */
export interface NotFound {
  readonly path: string
  readonly problem: string
}

/** What stands for several names. */
const PATTERN = /[*?[\]{}]/
/** Others' code, by the thousand. */
const LEFT_OUT = 'node_modules'

/**
 * The files that the words of a command line stand for: files, folders with all that is below them, and patterns. What is
 * hidden, and `node_modules`, is left out where it is not named; links are followed only where they are named, so that a
 * folder from elsewhere brings in nothing but itself, and no circle has to be looked for.
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
      else if (!(await fitting(word, take, missing, signal))) {
        missing.push({ path: word, problem: 'it fits no file' })
      }
    }
  }
  return { files: [...files.values()], missing }
}

/** Whether anything fits. */
async function fitting(
  pattern: string,
  take: (file: FoundFile) => void,
  missing: NotFound[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const named = new Set(pattern.split(/[\\/]/))
  const leftOut = (path: string) => path.split(/[\\/]/).some((part) => isLeftOut(part) && !named.has(part))
  let any = false
  for await (const path of glob(pattern, { exclude: leftOut })) {
    signal?.throwIfAborted()
    if (leftOut(path)) continue
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

/** In the order of names, so that a run that goes on takes the same way. */
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
    if (isLeftOut(entry.name)) continue
    const path = folder === '.' ? entry.name : join(folder, entry.name)
    if (entry.isDirectory()) await walk(path, take, missing, signal)
    else if (entry.isFile()) {
      // One that is gone by now is said when it is to be read.
      const bytes = await stat(path).then(
        ({ size }) => size,
        () => 0,
      )
      take({ path, bytes, named: false })
    }
  }
}

const isLeftOut = (name: string): boolean =>
  name === LEFT_OUT || (name.startsWith('.') && name !== '.' && name !== '..')

/** Without `./` before it and `/` after it: one file has one name. */
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
