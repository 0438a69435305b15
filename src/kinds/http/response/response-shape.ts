import { type Log, writeLog } from '../../../core/log.ts'
import { JsonPath } from '../../path/json-path.ts'
import type { HttpImplementation } from '../definition/http-implementation.ts'

/** Extracts the result from a response: `response_path`, then `max_items`, then `pick`. */
export class ResponseShape {
  readonly maxItems: number | undefined
  readonly #tool: string
  readonly #log: Log
  readonly #path: JsonPath | undefined
  readonly #pick: ((value: unknown) => unknown) | undefined

  constructor(tool: string, { max_items, pagination, pick, response_path }: HttpImplementation, log: Log) {
    this.#tool = tool
    this.#log = log
    this.maxItems = max_items
    this.#pick = pick && picker(pick)
    // With pagination it locates the items of each page, unless `items_path` does.
    const isForPages = pagination !== undefined && pagination.items_path === undefined
    this.#path = response_path === undefined || isForPages ? undefined : new JsonPath(response_path)
  }

  get needsJson(): boolean {
    return this.#path !== undefined || this.#pick !== undefined
  }

  /** Whether items map one to one to the result, so that pages beyond `max_items` aren't needed. */
  get keepsItems(): boolean {
    return this.#path === undefined
  }

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

/** The keys to keep, each with the keys to keep of its value; undefined keeps it whole. */
type Keys = ReadonlyMap<string, Keys | undefined>

/**
 * Keeps the named keys of an object or of each object in a list; other values stay as they are. `a.b` keeps `b` of the
 * value of `a`, and also a key named `a.b`.
 */
function picker(names: readonly string[]): (value: unknown) => unknown {
  const kept = new Map<string, Keys | undefined>()
  for (const name of names) {
    kept.set(name, undefined)
    if (name.includes('.')) add(kept, name.split('.'))
  }
  return (value) => keep(value, kept)
}

function add(kept: Map<string, Keys | undefined>, path: readonly string[]): void {
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

function keep(value: unknown, kept: Keys): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => keep(one, kept))
  const entries: [string, unknown][] = []
  for (const [name, below] of kept) {
    if (!Object.hasOwn(value, name)) continue
    const one = (value as Record<string, unknown>)[name]
    entries.push([name, below === undefined ? one : keep(one, below)])
  }
  // Unlike assignment, also defines a key called `__proto__`.
  return Object.fromEntries(entries)
}
