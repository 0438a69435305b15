import { type Log, writeLog } from '../../../core/log.ts'
import type { HttpImplementation } from '../http-implementation.ts'
import { JsonPath } from './json-path.ts'
import { picker } from './pick.ts'

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
