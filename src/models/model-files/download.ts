import { statSync } from 'node:fs'
import { type FileHandle, open, readFile, rm, writeFile } from 'node:fs/promises'
import { STATUS_CODES } from 'node:http'
import { pause } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { ModelFileError, requireMagic, requireRoom } from './model-file-checks.ts'

export interface AddProgress {
  readonly phase: 'fetching' | 'checking'
  readonly bytes: number
  readonly total: number | undefined
}

export interface AddModelOptions {
  readonly dataFolder: string
  /** The expected hash, in hexadecimal. */
  readonly sha256?: string
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: AddProgress) => void
  readonly log: Log
  readonly clock: Clock
}

/** Attempts in a row without new bytes. */
const MAX_FAILED_ATTEMPTS = 4
const FIRST_PAUSE_MS = 1_000

/** Describes the file that a `.part` belongs to; stored beside it. */
interface Origin {
  readonly url: string
  readonly etag: string | undefined
  readonly total: number | undefined
}

/** Downloads a file, resuming an earlier attempt. */
export async function downloadToPart(url: URL, part: string, options: AddModelOptions): Promise<void> {
  for (let failed = 0; ; ) {
    const before = sizeOf(part)
    try {
      return await attempt(url, part, before, options)
    } catch (error) {
      if (options.signal?.aborted || !(error instanceof CutOff)) throw error
      failed = sizeOf(part) > before ? 0 : failed + 1
      if (failed >= MAX_FAILED_ATTEMPTS) {
        throw new ModelFileError(`${error.message} Run the same command again later to resume.`, {
          cause: error,
        })
      }
      options.log.warn({ attempt: failed, problem: error.message }, 'Download interrupted; resuming')
      await pause(FIRST_PAUSE_MS * 2 ** failed, options.clock, options.signal)
    }
  }
}

/** Retryable. */
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
  await using file = await open(part, goesOn ? 'a' : 'w')
  await drain(response, file, start, total, options)
}

/** Whether the response continues the same file. */
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
      throw new CutOff('The connection was lost.', { cause: error })
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
      ? 'The file is not public: download it by hand, then add the file.'
      : 'Check the URL: it must point to the file itself.'
  return new ModelFileError(`${said}. ${advice}`)
}

/** Weak tags don't guarantee the same bytes. */
function strongTag({ headers }: Response): string | undefined {
  const tag = headers.get('etag') ?? undefined
  return tag?.startsWith('W/') ? undefined : tag
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** Undefined if the part is of another or an unknown URL. */
async function readOrigin(part: string, url: URL): Promise<Origin | undefined> {
  try {
    const origin: Origin = JSON.parse(await readFile(`${part}.json`, 'utf8'))
    return origin.url === url.href && (origin.etag ?? origin.total) !== undefined ? origin : undefined
  } catch {
    return undefined
  }
}
