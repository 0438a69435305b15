import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { pause } from '../cancellation.ts'
import type { Clock } from '../clock.ts'
import { asToolError } from '../failure.ts'
import { type Log, writeLog } from '../log.ts'
import { snapshotResult } from '../snapshot.ts'
import type { OnceClaim, OnceState, OnceStore } from '../storage/once-store.ts'
import type { Params } from '../tool.ts'
import { ToolExecutionError, type ToolResult } from '../tool-result.ts'
import type { BoundTool } from './bound-tool.ts'
import type { Call } from './call.ts'
import { callKey } from './result-cache.ts'

const RETENTION_MS = 24 * 60 * 60_000
const MAX_KEY_LENGTH = 255
const FIRST_POLL_MS = 5
const MAX_POLL_MS = 200

/** Runs calls with an idempotency key once, and returns the stored result to repeated calls. */
export class Once {
  readonly #clock: Clock
  readonly #log: Log
  /** For writes: shared and persistent. */
  readonly #store: OnceStore
  /** For everything else: a repeated read is harmless. */
  readonly #memory: OnceStore

  constructor(clock: Clock, log: Log, store: OnceStore | undefined) {
    this.#clock = clock
    this.#log = log
    this.#memory = new MemoryOnce(clock)
    this.#store = store ?? this.#memory
  }

  async run(call: Call, tool: BoundTool, params: Params, signal: AbortSignal, work: () => unknown): Promise<unknown> {
    const claim = this.#claimOf(call, tool, params)
    const store = tool.effect === 'write' ? this.#store : this.#memory
    const known = await this.#claim(store, claim, signal)
    if (known !== undefined) return replay(known)
    try {
      const value = snapshotResult(await work(), tool.limits.maxResultBytes)
      await this.#settle(store, claim, { ...this.#times(call), success: true, result: value })
      return value
    } catch (thrown) {
      const { code, message, extras } = asToolError(thrown, call.tool)
      const unknown = tool.effect === 'write' && (extras.outcome !== undefined || ENDED_EARLY.has(code))
      // The call did not happen: the key may be used again.
      if (!unknown && NOTHING_HAPPENED.has(code))
        await store.release(claim).catch((err) => this.#failed(err, call.tool))
      else {
        const outcome = unknown ? ({ outcome: 'unknown' } as const) : {}
        const failure = { success: false, error: message, error_code: code, ...extras, ...outcome } as const
        await this.#settle(store, claim, { ...this.#times(call), ...failure })
      }
      throw thrown
    }
  }

  #claimOf(call: Call, tool: BoundTool, params: Params): OnceClaim {
    const key = call.context.idempotencyKey as string
    if (typeof key !== 'string' || key === '' || key.length > MAX_KEY_LENGTH || /[^\x20-\x7e]/.test(key)) {
      throw new ToolExecutionError(
        'INVALID_PARAMETERS',
        `The idempotency key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters`,
      )
    }
    const expiresAt = this.#clock.wall() + RETENTION_MS
    const fingerprint = hash('sha256', callKey(tool.name, call.tenant, params))
    return { tenant: call.tenant, caller: call.caller ?? '', key, fingerprint, expiresAt }
  }

  /** The stored result, or undefined if this call must run. */
  async #claim(store: OnceStore, claim: OnceClaim, signal: AbortSignal): Promise<ToolResult | undefined> {
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
      const known = await store.claim(claim).catch((cause) => {
        const message = 'The store for idempotency keys is unavailable. The call did not run: try again later'
        throw new ToolExecutionError('SERVICE_UNAVAILABLE', message, {}, { cause })
      })
      if (known.state === 'done') return known.result
      if (known.state === 'fresh') {
        if (!signal.aborted) return undefined
        await store.release(claim)
        throw signal.reason
      }
      if (known.state === 'other') {
        const message = `The idempotency key '${claim.key}' was used for another call: use a new key`
        throw new ToolExecutionError('INVALID_PARAMETERS', message)
      }
      if (known.state === 'lost') {
        const message = `The server that ran the call with the idempotency key '${claim.key}' has died: check whether the call happened`
        throw new ToolExecutionError('EXECUTION_ERROR', message, { outcome: 'unknown' })
      }
      await pause(pauseMs, this.#clock, signal)
    }
  }

  async #settle(store: OnceStore, claim: OnceClaim, result: ToolResult): Promise<void> {
    await store.settle(claim, result).catch((err) => this.#failed(err, result.tool_name))
  }

  #failed(err: unknown, tool: string): void {
    writeLog(this.#log, 'error', { err, tool }, 'Could not store the result of a call with an idempotency key')
  }

  #times({ tool, startedMs }: Call): { tool_name: string; execution_time_ms: number } {
    return { tool_name: tool, execution_time_ms: Math.round(this.#clock.now() - startedMs) }
  }
}

const ENDED_EARLY: ReadonlySet<string> = new Set(['TIMEOUT', 'CANCELLED'])
const NOTHING_HAPPENED: ReadonlySet<string> = new Set(['SERVICE_UNAVAILABLE', 'RATE_LIMITED', 'TIMEOUT', 'CANCELLED'])

function replay(known: ToolResult): unknown {
  if (known.success) return known.result
  const { error, error_code, details, suggestions, outcome } = known
  throw new ToolExecutionError(error_code, error, {
    ...(details && { details }),
    ...(suggestions && { suggestions }),
    ...(outcome && { outcome }),
  })
}

const MAX_ENTRIES = 10_000
const MAX_CHARACTERS = 64 * 1024 * 1024

interface Entry {
  readonly fingerprint: string
  /** The envelope as JSON; empty while the call is running. */
  readonly text: string
}

/** Stores results in memory. */
export class MemoryOnce implements OnceStore {
  readonly #clock: Clock
  readonly #entries: LRUCache<string, Entry>

  constructor(clock: Clock) {
    this.#clock = clock
    this.#entries = new LRUCache({
      max: MAX_ENTRIES,
      maxSize: MAX_CHARACTERS,
      sizeCalculation: ({ text }, key) => text.length + key.length,
      ttlResolution: 0,
      perf: { now: () => clock.wall() },
    })
  }

  async claim(claim: OnceClaim): Promise<OnceState> {
    const name = nameOf(claim)
    const entry = this.#entries.get(name)
    if (entry === undefined) {
      this.#store(claim, '')
      return { state: 'fresh' }
    }
    if (entry.fingerprint !== claim.fingerprint) return { state: 'other' }
    return entry.text === '' ? { state: 'running' } : { state: 'done', result: JSON.parse(entry.text) }
  }

  async settle(claim: OnceClaim, result: ToolResult): Promise<void> {
    this.#store(claim, JSON.stringify(result))
  }

  async release(claim: OnceClaim): Promise<void> {
    this.#entries.delete(nameOf(claim))
  }

  #store(claim: OnceClaim, text: string): void {
    const ttl = Math.max(1, claim.expiresAt - this.#clock.wall())
    this.#entries.set(nameOf(claim), { fingerprint: claim.fingerprint, text }, { ttl })
  }
}

const nameOf = ({ tenant, caller, key }: OnceClaim): string => JSON.stringify([tenant, caller, key])
