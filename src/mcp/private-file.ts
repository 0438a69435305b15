import { type FileHandle, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { type Clock, systemClock } from '../core/clock.ts'
import { pause } from '../core/pause.ts'
import { ToolExecutionError } from '../core/tool-execution-error.ts'

/** How often one who waits for another writer looks again. */
const LOOK_AGAIN_MS = 20
/** A writer takes milliseconds: one that has left its file behind for so long is dead. */
const ABANDONED_MS = 5_000

/** A JSON object in a file that only its owner reads: written whole or not at all, by one process at a time. */
export class PrivateFile<T extends object> {
  readonly #path: string
  /** What is written next. Only one writer can make it, so that it is the lock as well. */
  readonly #next: string
  readonly #clock: Clock

  constructor(path: string, clock: Clock = systemClock) {
    this.#path = path
    this.#next = `${path}.next`
    this.#clock = clock
  }

  async read(key: string): Promise<T | undefined> {
    return (await this.#all()).get(key)
  }

  /** Replaces what stands under a key by what `change` makes of it, and gives that; undefined takes it away. */
  async update(key: string, change: (old: T | undefined) => T | undefined): Promise<T | undefined> {
    const next = await this.#begin()
    try {
      const all = await this.#all()
      const value = change(all.get(key))
      if (value === undefined) all.delete(key)
      else all.set(key, value)
      await next.writeFile(`${JSON.stringify(Object.fromEntries(all), undefined, 2)}\n`)
      await next.sync()
      await next.close()
      await rename(this.#next, this.#path)
      return value
    } catch (error) {
      await next.close().catch(() => {})
      await rm(this.#next, { force: true })
      throw error
    }
  }

  async #begin(): Promise<FileHandle> {
    for (;;) {
      try {
        await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
        return await open(this.#next, 'wx', 0o600)
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw this.#unusable(`cannot be written (${codeOf(error)})`)
      }
      const since = await stat(this.#next).then(
        ({ mtimeMs }) => mtimeMs,
        () => undefined,
      )
      if (since !== undefined && this.#clock.wall() - since > ABANDONED_MS) await rm(this.#next, { force: true })
      else await pause(LOOK_AGAIN_MS, this.#clock)
    }
  }

  async #all(): Promise<Map<string, T>> {
    let text: string
    try {
      text = await readFile(this.#path, 'utf8')
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return new Map()
      throw this.#unusable(`cannot be read (${codeOf(error)})`)
    }
    const value = parse(text)
    if (value === undefined) throw this.#unusable('is damaged')
    return new Map(Object.entries(value as Record<string, T>))
  }

  /** Only the name of the file is said: callers from elsewhere may see the sentence. */
  #unusable(problem: string): ToolExecutionError {
    const file = basename(this.#path)
    return new ToolExecutionError('SERVICE_UNAVAILABLE', `${file} in the data folder ${problem}: mend it or delete it`)
  }
}

/** An object of objects; what is inside comes from us alone. */
function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) && Object.values(value).every(isObject) ? value : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const codeOf = (error: unknown): unknown => (Object(error) as { code?: unknown }).code
