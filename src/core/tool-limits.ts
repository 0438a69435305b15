import { LIMITS } from './snapshot.ts'
import type { Effect, ToolDefinition } from './tool.ts'
import { ToolExecutionError } from './tool-execution-error.ts'

/** What bounds the calls of one tool, ready to be compared with. */
export interface ToolLimits {
  readonly timeoutMs: number
  readonly maxResultBytes: number
  readonly maxConcurrency: number
  readonly rate: { readonly calls: number; readonly perMs: number } | undefined
  readonly cacheTtlMs: number | undefined
  readonly retry: { readonly maxAttempts: number; readonly backoffMs: number } | undefined
}

const DEFAULT_BACKOFF_MS = 1_000
/** The times of so many calls are kept for each tenant. */
const MOST_CALLS = 100_000

/** The limits of a tool. Throws where one makes no sense: it would otherwise hold nothing, and nobody would know. */
export function toolLimits(
  tool: ToolDefinition,
  defaultTimeoutMs: number,
  usualRetry?: ToolDefinition['retry'],
): ToolLimits {
  const given = <Usual>(field: string, value: number | null | undefined, usual: Usual, least = Number.MIN_VALUE) => {
    if (value === undefined || value === null) return usual
    if (Number.isFinite(value) && value >= least) return value
    throw unfit(tool, field, value, least === 0 ? '0 or more' : 'a number above 0')
  }
  const { rate_limit: rate, retry = usualRetry, cache } = tool
  if (rate && !(Number.isInteger(rate.calls) && rate.calls > 0 && rate.calls <= MOST_CALLS)) {
    throw unfit(tool, 'rate_limit.calls', rate.calls, `a whole number from 1 to ${MOST_CALLS}`)
  }
  return {
    timeoutMs: given('timeout_ms', tool.timeout_ms, defaultTimeoutMs),
    maxResultBytes: given('max_result_bytes', tool.max_result_bytes, LIMITS.resultBytes),
    maxConcurrency: given('max_concurrency', tool.max_concurrency, Number.POSITIVE_INFINITY),
    rate: rate ? { calls: rate.calls, perMs: given('rate_limit.per_ms', rate.per_ms ?? Number.NaN, 0) } : undefined,
    cacheTtlMs: given('cache.ttl_ms', cache?.ttl_ms, undefined),
    retry: retry && {
      maxAttempts: given('retry.max_attempts', retry.max_attempts, 1),
      backoffMs: given('retry.backoff_ms', retry.backoff_ms, DEFAULT_BACKOFF_MS, 0),
    },
  }
}

const EFFECTS: ReadonlySet<string> = new Set<Effect>(['read', 'idempotent', 'write'])

/** What a call of the tool does to the world: as it says, else as its kind does. An unknown word is no licence to repeat. */
export function toolEffect(tool: ToolDefinition, usual: Effect): Effect {
  const effect = tool.effect ?? usual
  if (EFFECTS.has(effect)) return effect
  throw unfit(tool, 'effect', effect, [...EFFECTS].join(', '))
}

function unfit(tool: ToolDefinition, field: string, value: unknown, allowed: string): ToolExecutionError {
  const words = `Tool '${tool.name}' has an invalid ${field}: it must be ${allowed}, not ${String(value)}`
  return new ToolExecutionError('EXECUTION_ERROR', words)
}
