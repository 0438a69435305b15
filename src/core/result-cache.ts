import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'
import type { Params, ToolDefinition } from './tool.ts'

const MOST_ENTRIES = 10_000
const MOST_CHARACTERS = 64 * 1024 * 1024

/** Results by key, as text, so that nobody who got one can change what the next one gets. */
export class ResultCache {
  readonly #entries: LRUCache<string, string>
  readonly #onSet: ((key: string, text: string, ttlMs: number) => void) | undefined

  /** `onSet` is told of what is worked out here, and so could be told to others. */
  constructor(clock: Clock, onSet?: (key: string, text: string, ttlMs: number) => void) {
    this.#onSet = onSet
    this.#entries = new LRUCache({
      max: MOST_ENTRIES,
      maxSize: MOST_CHARACTERS,
      sizeCalculation: (text, key) => text.length + key.length,
      ttlResolution: 0,
      perf: { now: () => clock.now() },
    })
  }

  /** The stored result in a box of its own, since a result may be null. */
  get(key: string): { readonly result: unknown } | undefined {
    const text = this.#entries.get(key)
    return text === undefined ? undefined : { result: JSON.parse(text) }
  }

  set(key: string, result: unknown, ttlMs: number): void {
    const text = JSON.stringify(result)
    this.put(key, text, ttlMs)
    this.#onSet?.(key, text, ttlMs)
  }

  /** Keeps a result that another server worked out. */
  put(key: string, text: string, ttlMs: number): void {
    this.#entries.set(key, text, { ttl: ttlMs })
  }
}

/** What makes two calls the same: the definition, the tenant, and the parameters whatever the order of their keys. */
export const callKey = (hash: string, tenant: string, params: Params): string =>
  `${hash} ${JSON.stringify(tenant)} ${canonicalize(params)}`

/** Changes with name, schema and implementation, so that a redefined tool never answers from its past. */
export function toolHash({ name, parameters, implementation }: ToolDefinition): string {
  return createHash('sha256')
    .update(JSON.stringify([name, parameters, implementation]))
    .digest('base64url')
}
