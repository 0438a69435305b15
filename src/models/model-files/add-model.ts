import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type AddModelOptions, downloadToPart } from './download.ts'
import { inPlainWords, ModelFileError, requireGguf, requireRoom } from './model-file-checks.ts'
import { modelFile, modelFolder } from './model-folder.ts'

interface AddedModel {
  /** The model id without `llama:`. */
  readonly name: string
  readonly file: string
  readonly bytes: number
  readonly sha256: string
}

/**
 * Adds a GGUF file from a path or URL to the models folder. An interrupted download stays as `.part`, and the same
 * command resumes it.
 */
export async function addModel(source: string, options: AddModelOptions): Promise<AddedModel> {
  const wanted = readHash(options.sha256)
  const url = /^https?:/i.test(source) ? readUrl(source) : undefined
  const file = freeFile(options.dataFolder, url === undefined ? basename(resolve(source)) : nameIn(url), source)
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
        throw new ModelFileError(`The SHA-256 of the file is ${sha256}, not ${wanted}, so it was not added.`)
      }
      const { size } = await stat(part)
      await putInPlace(part, file)
      return { name: basename(file, '.gguf'), file, bytes: size, sha256 }
    })
  } catch (error) {
    if (error instanceof ModelFileError && error.usage) await discard(part)
    throw inPlainWords(error, part, options.signal)
  }
}

function readHash(sha256: string | undefined): string | undefined {
  if (sha256 === undefined || /^[0-9a-f]{64}$/i.test(sha256)) return sha256?.toLowerCase()
  throw new ModelFileError(`'${sha256}' is not a SHA-256 hash: write 64 hexadecimal digits.`, { usage: true })
}

function readUrl(source: string): URL {
  const url = URL.parse(source)
  if (url === null) throw new ModelFileError(`'${source}' is not a URL.`, { usage: true })
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

/** The target path, named like the source. */
function freeFile(data: string, name: string, source: string): string {
  const file = modelFile(data, name)
  if (file === undefined) {
    throw new ModelFileError(
      `'${source}' does not end in a model name: letters, digits, ".", "_" and "-", as in tinyllama-q4.gguf.`,
      { usage: true },
    )
  }
  if (existsSync(file)) {
    throw new ModelFileError(`'${basename(file)}' already exists. To add it again, delete ${file} first.`, {
      usage: true,
    })
  }
  return file
}

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

/** Syncs before the rename, so that a power cut can't leave a partial model. */
async function putInPlace(part: string, file: string): Promise<void> {
  {
    await using handle = await open(part, 'r+')
    await handle.sync()
  }
  await rename(part, file)
  await discard(part)
}

const discard = (part: string): Promise<unknown> =>
  Promise.all([rm(part, { force: true }), rm(`${part}.json`, { force: true })])

/** Copies from the start: nothing says which file an earlier part belongs to. */
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

/** Runs `work` under a lock file with our process id. Locks of dead processes are ignored. */
export async function whileLocked<T>(file: string, work: () => Promise<T>): Promise<T> {
  if (!(await take(file))) {
    const owner = Number(await readFile(file, 'utf8').catch(() => ''))
    if (isAlive(owner))
      throw new ModelFileError(`Process ${owner} is adding this model already: wait for it, or end it.`)
    await rm(file, { force: true })
    if (!(await take(file))) throw new ModelFileError('Another process is adding this model already: wait for it.')
  }
  try {
    return await work()
  } finally {
    await rm(file, { force: true })
  }
}

async function take(file: string): Promise<boolean> {
  try {
    const handle = await open(file, 'wx')
    await handle.writeFile(String(process.pid)).finally(() => handle.close())
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
