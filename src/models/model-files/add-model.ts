import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { AddModelOptions } from './add-model-options.ts'
import { copyToPart } from './copy-to-part.ts'
import { downloadToPart } from './download-to-part.ts'
import { requireGguf } from './gguf-magic.ts'
import { inPlainWords } from './in-plain-words.ts'
import { ModelFileError } from './model-file-error.ts'
import { modelFile, modelFolder } from './model-folder.ts'
import { whileLocked } from './while-locked.ts'

export interface AddedModel {
  /** What comes after `llama:`. */
  readonly name: string
  readonly file: string
  readonly bytes: number
  readonly sha256: string
}

/**
 * Puts a GGUF file from a path or an http(s) address into the models folder. It appears there under its name when it is
 * whole and checked; what was cut off stays beside it as `.part`, and the same command goes on from there.
 */
export async function addModel(source: string, options: AddModelOptions): Promise<AddedModel> {
  const wanted = readHash(options.sha256)
  const url = /^https?:/i.test(source) ? readUrl(source) : undefined
  const file = await freeFile(options.dataFolder, url === undefined ? basename(resolve(source)) : nameIn(url), source)
  const part = `${file}.part`
  try {
    await mkdir(modelFolder(options.dataFolder), { recursive: true })
    return await whileLocked(`${part}.lock`, async () => {
      if (url === undefined) await copyToPart(resolve(source), part, options)
      else await downloadToPart(url, part, options)
      await requireGguf(part)
      const sha256 = await hashOf(part, options)
      if (wanted !== undefined && sha256 !== wanted) {
        await discard(part)
        throw notTheOne(wanted, sha256)
      }
      const { size } = await stat(part)
      await putInPlace(part, file)
      return { name: basename(file, '.gguf'), file, bytes: size, sha256 }
    })
  } catch (error) {
    // Of a file that is of no use nothing is kept.
    if (error instanceof ModelFileError && error.usage) await discard(part)
    throw inPlainWords(error, part, options.signal)
  }
}

function readHash(sha256: string | undefined): string | undefined {
  if (sha256 === undefined || /^[0-9a-f]{64}$/i.test(sha256)) return sha256?.toLowerCase()
  throw new ModelFileError(`'${sha256}' is no SHA-256: that is 64 hexadecimal digits.`, { usage: true })
}

function readUrl(source: string): URL {
  const url = URL.parse(source)
  if (url === null) throw new ModelFileError(`'${source}' is no address.`, { usage: true })
  return url
}

function nameIn({ pathname }: URL): string {
  const name = basename(pathname)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** The place for the file: named as at its source, and not taken yet. */
async function freeFile(data: string, name: string, source: string): Promise<string> {
  const file = modelFile(data, name)
  if (file === undefined) {
    throw new ModelFileError(
      `'${source}' does not end in a name for a model: letters, digits, ".", "_" and "-", as in tinyllama-q4.gguf.`,
      { usage: true },
    )
  }
  if (await exists(file)) {
    throw new ModelFileError(`'${basename(file)}' is already there. To have it anew, delete ${file} first.`, {
      usage: true,
    })
  }
  return file
}

const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  )

async function hashOf(part: string, { signal, onProgress }: AddModelOptions): Promise<string> {
  const hash = createHash('sha256')
  const { size: total } = await stat(part)
  let bytes = 0
  for await (const chunk of createReadStream(part, { highWaterMark: 1 << 20, ...(signal && { signal }) })) {
    hash.update(chunk)
    bytes += chunk.length
    onProgress?.({ phase: 'checking', bytes, total })
  }
  return hash.digest('hex')
}

const notTheOne = (wanted: string, sha256: string): ModelFileError =>
  new ModelFileError(
    `The file is not the one that was meant, and was not kept: its SHA-256 is ${sha256}, not ${wanted}.`,
  )

/** What is on the disk before the name is, survives a power cut. */
async function putInPlace(part: string, file: string): Promise<void> {
  const handle = await open(part, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(part, file)
  await discard(part)
}

const discard = (part: string): Promise<unknown> =>
  Promise.all([rm(part, { force: true }), rm(`${part}.json`, { force: true })])
