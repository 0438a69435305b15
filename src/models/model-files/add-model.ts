import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { type FileHandle, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { STATUS_CODES } from 'node:http'
import { basename, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { pause } from '../../core/pause.ts'
import type { AddModelOptions } from './add-model-options.ts'
import { requireGguf, requireMagic } from './gguf-magic.ts'
import { inPlainWords } from './in-plain-words.ts'
import { ModelFileError } from './model-file-error.ts'
import { modelFile, modelFolder } from './model-folder.ts'
import { requireRoom } from './require-room.ts'
import { whileLocked } from './while-locked.ts'

/** How often in a row nothing may come before we give up. */
const MOST_VAIN_ATTEMPTS = 4
const FIRST_PAUSE_MS = 1_000

/** What is known of the file that a part is the beginning of; kept beside it. */
interface Origin {
  readonly url: string
  readonly etag: string | undefined
  readonly total: number | undefined
}

/** Fetches a file, going on where an earlier attempt, in this process or before, was cut off. */
async function downloadToPart(url: URL, part: string, options: AddModelOptions): Promise<void> {
  for (let vain = 0; ; ) {
    const before = await sizeOf(part)
    try {
      return await attempt(url, part, before, options)
    } catch (error) {
      if (options.signal?.aborted || !(error instanceof CutOff)) throw error
      vain = (await sizeOf(part)) > before ? 0 : vain + 1
      if (vain >= MOST_VAIN_ATTEMPTS) {
        throw new ModelFileError(`${error.message} Run the same command again later: it goes on where it stopped.`, {
          cause: error,
        })
      }
      options.log.warn({ attempt: vain, problem: error.message }, 'The download was cut off; going on')
      await pause(FIRST_PAUSE_MS * 2 ** vain, options.clock, options.signal)
    }
  }
}

/** Trying again may help. */
class CutOff extends Error {}

async function attempt(url: URL, part: string, have: number, options: AddModelOptions): Promise<void> {
  const origin = have > 0 ? await readOrigin(part, url) : undefined
  const response = await ask(url, origin === undefined ? 0 : have, origin, options.signal)
  const range = /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(response.headers.get('content-range') ?? '')
  if (response.status === 416 && origin !== undefined) {
    await response.body?.cancel()
    if (Number(range?.[2]) === have) return
    return startOver(url, part, options)
  }
  if (!response.ok) throw refusal(response.status)
  const goesOn = response.status === 206 && origin !== undefined
  if (goesOn && !continues(origin, have, response, range)) {
    await response.body?.cancel()
    return startOver(url, part, options)
  }
  const start = goesOn ? have : 0
  const length = response.headers.get('content-length')
  const total = goesOn ? Number(range?.[2]) : length === null ? undefined : Number(length)
  if (total !== undefined) await requireRoom(part, total - start)
  await writeFile(`${part}.json`, JSON.stringify({ url: url.href, etag: strongTag(response), total } satisfies Origin))
  const file = await open(part, goesOn ? 'a' : 'w')
  try {
    await drain(response, file, start, total, options)
  } finally {
    await file.close()
  }
}

/** Whether this is what comes next of the same file. */
function continues(origin: Origin, have: number, response: Response, range: RegExpExecArray | null): boolean {
  const tag = strongTag(response) ?? origin.etag
  const total = Number(range?.[2])
  return Number(range?.[1]) === have && total === (origin.total ?? total) && tag === origin.etag
}

async function startOver(url: URL, part: string, options: AddModelOptions): Promise<void> {
  await rm(part, { force: true })
  return attempt(url, part, 0, options)
}

async function ask(url: URL, from: number, origin: Origin | undefined, signal: AbortSignal | undefined) {
  const headers: Record<string, string> = { 'accept-encoding': 'identity' }
  if (from > 0) headers.range = `bytes=${from}-`
  if (from > 0 && origin?.etag !== undefined) headers['if-range'] = origin.etag
  try {
    return await fetch(url, { headers, ...(signal && { signal }) })
  } catch (error) {
    throw new CutOff(`${url.host} could not be reached.`, { cause: error })
  }
}

async function drain(
  response: Response,
  file: FileHandle,
  start: number,
  total: number | undefined,
  { onProgress }: AddModelOptions,
): Promise<void> {
  let bytes = start
  const chunks = response.body?.[Symbol.asyncIterator]()
  for (;;) {
    const next = await chunks?.next().catch((error: unknown) => {
      throw new CutOff('The connection was cut off.', { cause: error })
    })
    if (next === undefined || next.done) break
    if (bytes === 0 && next.value.length >= 4) requireMagic(next.value)
    await file.writeFile(next.value)
    bytes += next.value.length
    onProgress?.({ phase: 'fetching', bytes, total })
  }
  if (total !== undefined && bytes !== total) throw new CutOff(`Only ${bytes} of ${total} bytes came.`)
}

function refusal(status: number): Error {
  const said = `The server answered ${status} ${STATUS_CODES[status] ?? ''}`.trim()
  if (status === 429 || status === 408 || status >= 500) return new CutOff(`${said}.`)
  const advice =
    status === 401 || status === 403
      ? 'The file is not for everybody: download it by hand, then add the file.'
      : 'Check the address: it must lead to the file itself.'
  return new ModelFileError(`${said}. ${advice}`)
}

/** A weak tag does not promise the same bytes. */
function strongTag({ headers }: Response): string | undefined {
  const tag = headers.get('etag') ?? undefined
  return tag?.startsWith('W/') ? undefined : tag
}

const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0,
  )

/** Undefined where the part belongs to another address, or nothing says what it belongs to. */
async function readOrigin(part: string, url: URL): Promise<Origin | undefined> {
  try {
    const origin: Origin = JSON.parse(await readFile(`${part}.json`, 'utf8'))
    return origin.url === url.href && (origin.etag ?? origin.total) !== undefined ? origin : undefined
  } catch {
    return undefined
  }
}

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

/** Copies a file; what was copied of it before is thrown away, because nothing says what it is a part of. */
async function copyToPart(source: string, part: string, { signal, onProgress }: AddModelOptions): Promise<void> {
  const { size: total } = await stat(source)
  await rm(part, { force: true })
  await requireRoom(part, total)
  let bytes = 0
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      bytes += chunk.length
      onProgress?.({ phase: 'fetching', bytes, total })
      yield chunk
    }
  }
  const from = createReadStream(source, { highWaterMark: 1 << 20 })
  await pipeline(from, counted, createWriteStream(part), { ...(signal && { signal }) })
}
