import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { BoundTool } from './bound-tool.ts'
import type { Call } from './call.ts'
import type { Clock } from './clock.ts'
import { asToolError } from './failure.ts'
import { type Log, writeLog } from './log.ts'
import { pause } from './pause.ts'
import { callKey } from './result-cache.ts'
import { snapshotResult } from './snapshot.ts'
import type { OnceClaim, OnceState, OnceStore } from './storage/once-store.ts'
import type { Params } from './tool.ts'
import { ToolExecutionError } from './tool-execution-error.ts'
import type { ToolResult } from './tool-result.ts'

/** How long the answer to a keyed call is kept. */
const KEPT_MS = 24 * 60 * 60_000
const LONGEST_KEY = 255
/** How long after the first question the next is asked; after that twice as long each time, up to the longest. */
const ASK_AGAIN_MS = 5
const LONGEST_PAUSE_MS = 200

/** Runs a call that carries an idempotency key, unless it has been run before: then its answer comes back. */
export class Once {
  readonly #clock: Clock
  readonly #log: Log
  /** For writes: what is shared, and survives. */
  readonly #store: OnceStore
  /** For everything else, which may be run again and so never waits for a store. */
  readonly #memory: OnceStore

  constructor(clock: Clock, log: Log, store: OnceStore | undefined) {
    this.#clock = clock
    this.#log = log
    this.#memory = new MemoryOnce(clock)
    this.#store = store ?? this.#memory
  }

  /** What the work gives, now or the first time. The signal ends the wait for another that runs it. */
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
      // What did not happen may be tried again with the same key.
      if (!unknown && NOTHING_HAPPENED.has(code)) await store.release(claim).catch((err) => this.#failed(err, call))
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
    if (typeof key !== 'string' || key === '' || key.length > LONGEST_KEY || /[^\x20-\x7e]/.test(key)) {
      throw new ToolExecutionError(
        'INVALID_PARAMETERS',
        `The idempotency key must be 1 to ${LONGEST_KEY} printable ASCII characters`,
      )
    }
    const expiresAt = this.#clock.wall() + KEPT_MS
    const fingerprint = hash('sha256', callKey(tool.name, call.tenant, params))
    return { tenant: call.tenant, caller: call.caller ?? '', key, fingerprint, expiresAt }
  }

  /** The answer where there is one; undefined where the call is now ours to run. */
  async #claim(store: OnceStore, claim: OnceClaim, signal: AbortSignal): Promise<ToolResult | undefined> {
    for (let pauseMs = ASK_AGAIN_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const known = await store.claim(claim).catch((cause) => {
        const says = 'The store that keeps idempotency keys is unavailable: nothing was run, try again later'
        throw new ToolExecutionError('SERVICE_UNAVAILABLE', says, {}, { cause })
      })
      if (known.state === 'done') return known.result
      if (known.state === 'fresh') {
        if (!signal.aborted) return undefined
        await store.release(claim)
        throw signal.reason
      }
      if (known.state === 'other') throw usedForOther(claim)
      if (known.state === 'lost') throw lost(claim)
      await pause(pauseMs, this.#clock, signal)
    }
  }

  async #settle(store: OnceStore, claim: OnceClaim, result: ToolResult): Promise<void> {
    await store.settle(claim, result).catch((err) => this.#failed(err, { tool: result.tool_name }))
  }

  #failed(err: unknown, { tool }: { readonly tool: string }): void {
    writeLog(this.#log, 'error', { err, tool }, 'The answer to a call with an idempotency key could not be kept')
  }

  #times(call: Call): { tool_name: string; execution_time_ms: number } {
    return { tool_name: call.tool, execution_time_ms: Math.round(this.#clock.now() - call.startedMs) }
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

const usedForOther = ({ key }: OnceClaim): ToolExecutionError =>
  new ToolExecutionError(
    'INVALID_PARAMETERS',
    `The idempotency key '${key}' was used for another call: take a new key for this one`,
  )

const lost = ({ key }: OnceClaim): ToolExecutionError =>
  new ToolExecutionError(
    'EXECUTION_ERROR',
    `The call with the idempotency key '${key}' was begun by a server that has since died: look whether it happened`,
    { outcome: 'unknown' },
  )

const MOST_ENTRIES = 10_000
const MOST_CHARACTERS = 64 * 1024 * 1024

interface Entry {
  readonly fingerprint: string
  /** The answer as text, so that nobody who got it can change it. */
  readonly text: string
}

/** Remembers the answers of keyed calls as long as the process lives. */
export class MemoryOnce implements OnceStore {
  readonly #clock: Clock
  readonly #entries: LRUCache<string, Entry>

  constructor(clock: Clock) {
    this.#clock = clock
    this.#entries = new LRUCache({
      max: MOST_ENTRIES,
      maxSize: MOST_CHARACTERS,
      sizeCalculation: ({ text }, key) => text.length + key.length,
      ttlResolution: 0,
      perf: { now: () => clock.wall() },
    })
  }

  async claim(claim: OnceClaim): Promise<OnceState> {
    const name = nameOf(claim)
    const entry = this.#entries.get(name)
    if (entry === undefined) {
      this.#keep(claim, '')
      return { state: 'fresh' }
    }
    if (entry.fingerprint !== claim.fingerprint) return { state: 'other' }
    return entry.text === '' ? { state: 'running' } : { state: 'done', result: JSON.parse(entry.text) }
  }

  async settle(claim: OnceClaim, result: ToolResult): Promise<void> {
    this.#keep(claim, JSON.stringify(result))
  }

  async release(claim: OnceClaim): Promise<void> {
    this.#entries.delete(nameOf(claim))
  }

  #keep(claim: OnceClaim, text: string): void {
    const ttl = Math.max(1, claim.expiresAt - this.#clock.wall())
    this.#entries.set(nameOf(claim), { fingerprint: claim.fingerprint, text }, { ttl })
  }
}

const nameOf = ({ tenant, caller, key }: OnceClaim): string => JSON.stringify([tenant, caller, key])
