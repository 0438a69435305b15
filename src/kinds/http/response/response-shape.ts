import { type Log, writeLog } from '../../../core/log.ts'
import type { HttpImplementation } from '../definition/http-implementation.ts'
import { JsonPath } from './json-path.ts'

/** What of an answer becomes the result: `response_path`, then `max_items`, then `pick`. */
export class ResponseShape {
  readonly maxItems: number | undefined
  readonly #tool: string
  readonly #log: Log
  readonly #path: JsonPath | undefined
  readonly #pick: ((value: unknown) => unknown) | undefined

  /** Throws a sentence about a path that cannot be used. */
  constructor(tool: string, { max_items, pagination, pick, response_path }: HttpImplementation, log: Log) {
    this.#tool = tool
    this.#log = log
    this.maxItems = max_items
    this.#pick = pick && picker(pick)
    // In a list of pages it says where each page has its items, unless `items_path` does.
    const isForPages = pagination !== undefined && pagination.items_path === undefined
    this.#path = response_path === undefined || isForPages ? undefined : new JsonPath(response_path)
  }

  /** Whether it says where something is in the answer, so that the answer must be JSON. */
  get needsJson(): boolean {
    return this.#path !== undefined || this.#pick !== undefined
  }

  /** Whether one thing in the answer is one thing in the result, so that what is beyond `max_items` need not be there. */
  get keepsItems(): boolean {
    return this.#path === undefined
  }

  /** Throws `PathTooMuch` where there is too much to look at. */
  apply(value: unknown): unknown {
    const found = this.#path === undefined ? value : this.#path.find(value)
    const cut = this.maxItems !== undefined && Array.isArray(found) ? this.#cut(found, this.maxItems) : found
    return this.#pick === undefined ? cut : this.#pick(cut)
  }

  #cut(list: readonly unknown[], most: number): readonly unknown[] {
    if (list.length <= most) return list
    writeLog(this.#log, 'debug', { tool: this.#tool, kept: most, left_out: list.length - most }, 'A list was cut')
    return list.slice(0, most)
  }
}

/** Which keys are kept: a name, and what of the value behind it; nothing further where it is kept whole. */
type Kept = ReadonlyMap<string, Kept | undefined>

/**
 * Keeps the named keys of an object, or of each object of a list; whatever else it is stays as it is. `a.b` keeps `b` of
 * what stands under `a`, and is also looked for as a key of its own.
 */
function picker(names: readonly string[]): (value: unknown) => unknown {
  const kept = new Map<string, Kept | undefined>()
  for (const name of names) {
    kept.set(name, undefined)
    if (name.includes('.')) add(kept, name.split('.'))
  }
  return (value) => keep(value, kept)
}

function add(kept: Map<string, Kept | undefined>, path: readonly string[]): void {
  const [name = '', ...rest] = path
  if (kept.has(name) && kept.get(name) === undefined) return
  if (rest.length === 0) {
    kept.set(name, undefined)
    return
  }
  const below = new Map(kept.get(name))
  add(below, rest)
  kept.set(name, below)
}

function keep(value: unknown, kept: Kept): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => keep(one, kept))
  const entries: [string, unknown][] = []
  for (const [name, below] of kept) {
    if (!Object.hasOwn(value, name)) continue
    const one = (value as Record<string, unknown>)[name]
    entries.push([name, below === undefined ? one : keep(one, below)])
  }
  // Defines each key, also one called `__proto__`.
  return Object.fromEntries(entries)
}
