import { createHash } from 'node:crypto'
import { access, constants, copyFile, readdir, readFile, realpath, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { writeWhole } from '../../config/write-whole.ts'
import { SetupError } from './setup-error.ts'

const MAX_BACKUPS = 5
const MAX_BYTES = 16 * 1024 * 1024

/** The configuration as it is now. */
export interface ConfigState {
  readonly text: string
  /** Identifies the text: a change applies to the text that its author has seen. */
  readonly base: string
  /** Whether there is no file yet. */
  readonly isNew: boolean
}

interface Files {
  readonly read: string | undefined
  readonly write: string | undefined
}

const EMPTY = '{\n  "tools": { "enabled": true, "registry": [] }\n}\n'

/** Reads the text that changes apply to: that of the file, or of the shipped configuration. */
export async function readState({ read, write }: Files): Promise<ConfigState> {
  const own = write === undefined ? undefined : await textOf(write)
  if (own !== undefined) return { text: own, base: hashOf(own), isNew: false }
  // The reference to the schema is relative to the shipped file.
  const shipped = read === undefined || read === write ? undefined : await textOf(read)
  const lines = (shipped ?? EMPTY).split('\n')
  const text = lines.filter((line, index) => index !== 1 || !line.trimStart().startsWith('"$schema"')).join('\n')
  return { text, base: hashOf(text), isNew: true }
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    const found = await stat(file)
    if (!found.isFile()) throw new SetupError(422, `${basename(file)} isn't a file: change the configuration by hand`)
    if (found.size > MAX_BYTES) throw new SetupError(422, `${basename(file)} is larger than 16 MB: change it by hand`)
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)

/** Why the file can't be written; undefined if it can. */
export async function readOnlyReason(file: string): Promise<string | undefined> {
  const name = basename(file)
  const target = await realpath(file).catch(() => file)
  const found = await stat(target).catch(() => undefined)
  // The superuser may write to any file, also to one that its operator has protected.
  if (found !== undefined && (found.mode & 0o222) === 0) return `${name} is read-only`
  try {
    if (found !== undefined) await access(target, constants.W_OK)
    await access(dirname(target), constants.W_OK)
    return undefined
  } catch (error) {
    return failureOf(name, error)
  }
}

const FAILURES: Readonly<Record<string, string>> = {
  EACCES: 'this server may not write to it, or to its folder',
  EBUSY: 'it is mounted on its own, and only a mounted folder can be written to',
  ENOENT: "its folder doesn't exist",
  EPERM: 'this server may not write to it, or to its folder',
  EROFS: 'its file system is read-only',
}

/** Undefined if the failure isn't about the rights to write. */
function failureOf(name: string, error: unknown): string | undefined {
  const { code, cause } = error as NodeJS.ErrnoException & { readonly cause?: NodeJS.ErrnoException }
  const known = FAILURES[code ?? cause?.code ?? '']
  return known && `${name} can't be written: ${known}`
}

export type Written = { readonly backup?: string } | { readonly reason: string }

/**
 * Replaces the text of the file, if it is still that of `before`, and keeps a copy of the old one beside it. A link stays
 * a link. Throws 409 if somebody else has changed the file.
 */
export async function writeText(file: string, before: ConfigState, text: string, now: number): Promise<Written> {
  const reason = await readOnlyReason(file)
  if (reason !== undefined) return { reason }
  const found = await textOf(file)
  if (before.isNew ? found !== undefined : found !== before.text) throw changedMeanwhile(basename(file))
  try {
    if (before.isNew) {
      await writeWhole(file, text)
      return {}
    }
    const target = await realpath(file)
    const backup = await copied(target, now)
    try {
      await writeWhole(target, text)
    } catch (error) {
      await rm(backup, { force: true })
      throw error
    }
    await removeOld(target)
    return { backup: basename(backup) }
  } catch (error) {
    const failure = failureOf(basename(file), error)
    if (failure === undefined) throw error
    return { reason: failure }
  }
}

/** Copies a file, with its mode. */
async function copied(target: string, now: number): Promise<string> {
  const stamp = new Date(now).toISOString().replaceAll(/[-:.]/g, '')
  const backup = `${target}.backup-${stamp}`
  try {
    await copyFile(target, backup, constants.COPYFILE_EXCL)
    return backup
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return copied(target, now + 1)
    throw error
  }
}

/** Takes a change back, with its backup, if the file still has the text that was `written`. Otherwise throws 409. */
export async function restoreText(
  file: string,
  before: ConfigState,
  { written, backup }: { readonly written: string; readonly backup?: string },
): Promise<void> {
  if ((await textOf(file)) !== written) throw changedMeanwhile(basename(file))
  if (before.isNew) return rm(file, { force: true })
  const target = await realpath(file)
  await writeWhole(target, before.text)
  if (backup !== undefined) await rm(join(dirname(target), backup), { force: true })
}

export const changedMeanwhile = (name: string): SetupError =>
  new SetupError(409, `${name} has changed meanwhile: look at the change again`)

/** Backups of other programs have other names. */
async function removeOld(target: string): Promise<void> {
  const folder = dirname(target)
  const start = `${basename(target)}.backup-`
  const own = (await readdir(folder)).filter(
    (name) => name.startsWith(start) && /^\d{8}T\d{9}Z$/.test(name.slice(start.length)),
  )
  for (const name of own.sort().slice(0, -MAX_BACKUPS)) await rm(join(folder, name), { force: true })
}
