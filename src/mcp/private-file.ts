import { type FileHandle, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { pause } from '../core/cancellation.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import { ToolExecutionError } from '../core/tool-result.ts'

const POLL_MS = 20
/** A write takes milliseconds, so the process behind an older lock has died. */
const ABANDONED_MS = 5_000

/** A JSON file that only its owner can read. Writes are atomic and locked across processes. */
export class PrivateFile<T extends object> {
  readonly #path: string
  /** The next version; only one writer can create it, so it is also the lock. */
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

  /** Replaces the value of a key and returns the new one; undefined deletes it. */
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
      else await pause(POLL_MS, this.#clock)
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

  /** Names the file without its path: remote callers may see the message. */
  #unusable(problem: string): ToolExecutionError {
    const file = basename(this.#path)
    return new ToolExecutionError('SERVICE_UNAVAILABLE', `${file} in the data folder ${problem}: fix or delete it`)
  }
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) && Object.values(value).every(isObject) ? value : undefined
  } catch {
    return undefined
  }
}

const codeOf = (error: unknown): unknown => (Object(error) as { code?: unknown }).code
