import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import { canonicalText } from '../json/canonical-text.ts'
import type { Params, ToolDefinition } from '../tool.ts'

const MAX_ENTRIES = 10_000
const MAX_CHARACTERS = 64 * 1024 * 1024

/** Results by key, as text, so that no caller can change a cached value. */
export class ResultCache {
  readonly #entries: LRUCache<string, string>

  constructor(clock: Clock) {
    this.#entries = new LRUCache({
      max: MAX_ENTRIES,
      maxSize: MAX_CHARACTERS,
      sizeCalculation: (text, key) => text.length + key.length,
      ttlResolution: 0,
      perf: { now: () => clock.now() },
    })
  }

  /** Wrapped, because a result may be null. */
  get(key: string): { readonly result: unknown } | undefined {
    const text = this.#entries.get(key)
    return text === undefined ? undefined : { result: JSON.parse(text) }
  }

  set(key: string, result: unknown, ttlMs: number): void {
    this.#entries.set(key, JSON.stringify(result), { ttl: ttlMs })
  }
}

/** Identical calls have the same tool, scope and parameters, in any key order. */
export const callKey = (hash: string, scope: string, params: Params): string =>
  `${hash} ${JSON.stringify(scope)} ${canonicalText(params)}`

/** Changes with name, version, schema and implementation, so that a redefined tool never returns old results. */
export function toolHash({ name, parameters, implementation, version }: ToolDefinition): string {
  const versioned = version === undefined ? [] : [version]
  return createHash('sha256')
    .update(JSON.stringify([name, parameters, implementation, ...versioned]))
    .digest('base64url')
}
