import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type CancelSignal, pause } from '../cancellation.ts'
import type { Clock } from '../clock.ts'
import { asToolError } from '../failure.ts'
import { type Log, writeLog } from '../log.ts'
import type { OnceClaim, OnceKey, OnceState, OnceStore } from '../once-store.ts'
import { snapshotResult } from '../snapshot.ts'
import type { Params } from '../tool.ts'
import { errorTraits, ToolExecutionError, type ToolResult } from '../tool-result.ts'
import type { BoundTool } from './bound-tool.ts'
import type { Call } from './call.ts'
import { callKey } from './result-cache.ts'
import type { Known } from './stages.ts'

/** No caller can send such a key: it isn't printable ASCII. */
const APPROVAL = 'approval\n'
const approvalKey = (id: string): string => `${APPROVAL}${id}`
const isOfApproval = ({ key }: OnceClaim): boolean => key.startsWith(APPROVAL)

const RETENTION_MS = 24 * 60 * 60_000
/** A run may continue long after its server has died. */
const RUN_RETENTION_MS = 30 * RETENTION_MS
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
    this.#store = store ?? new MemoryOnce(clock, 'refuse')
  }

  /** Runs the call once for its idempotency key, and once for its approval. */
  run(call: Call, tool: BoundTool, params: Params, signal: CancelSignal, work: () => unknown): unknown {
    const { approval, idempotencyKey } = call
    // An approval may have changed the parameters, but the caller repeats those that it asked for.
    const asked = approval?.params ?? params
    const key = approval && approvalKey(approval.id)
    const approved =
      key === undefined ? work : () => this.#run(call, tool, this.#claimOf(call, tool, asked, key), signal, work)
    if (idempotencyKey === undefined) return approved()
    return this.#run(call, tool, this.#keyClaim(call, tool, asked), signal, approved)
  }

  /** The stored answer of the idempotency key, or of the approval if its call has begun, without claiming the key. */
  async look(
    call: Call,
    tool: BoundTool,
    params: Params,
    hasBegun: boolean,
    signal: CancelSignal,
  ): Promise<Known | undefined> {
    const { approval, idempotencyKey } = call
    const claims = [
      ...(idempotencyKey === undefined ? [] : [this.#keyClaim(call, tool, params)]),
      ...(hasBegun && approval ? [this.#claimOf(call, tool, approval.params, approvalKey(approval.id))] : []),
    ]
    for (const claim of claims) {
      const store = this.#storeFor(call, tool, claim)
      const known = await this.#await(call, claim, () => store.look(claim), signal)
      if (known !== undefined) return { result: replay(known) }
    }
    return undefined
  }

  /**
   * The result of a call that began before its run continued, whatever has become of the tool since. Throws if its outcome is
   * unknown.
   */
  async begun({ context, tenant, caller = '', idempotencyKey: key = '' }: Call): Promise<Known | undefined> {
    const state = await (context.once ?? this.#store).look({ tenant, caller, key }).catch(() => undefined)
    if (state?.state === 'done') return { result: replay(state.result) }
    if (state?.state === 'fresh') return undefined
    throw unknownOutcome('The call began before the run continued, and its result is not known')
  }

  #storeFor({ context: { once } }: Call, { effect, approval }: BoundTool, claim: OnceClaim): OnceStore {
    return effect === 'write' || approval !== undefined || isOfApproval(claim) ? (once ?? this.#store) : this.#memory
  }

  async #run(
    call: Call,
    tool: BoundTool,
    claim: OnceClaim,
    signal: CancelSignal,
    work: () => unknown,
  ): Promise<unknown> {
    const store = this.#storeFor(call, tool, claim)
    const known = await this.#await(call, claim, () => store.claim(claim), signal)
    if (known !== undefined) return replay(known)
    if (signal.aborted) {
      await store.release(claim)
      throw signal.reason
    }
    try {
      const value = snapshotResult(await work(), tool.limits.maxResultBytes)
      await this.#settle(store, claim, { ...this.#times(call), success: true, result: value })
      return value
    } catch (thrown) {
      const { code, message, extras } = asToolError(thrown, call.tool)
      const { ended = false, freesKey = false } = errorTraits(code)
      const unknown = tool.effect === 'write' && (extras.outcome !== undefined || ended)
      if (!unknown && freesKey) await store.release(claim).catch((err) => this.#failed(err, call.tool))
      else {
        const outcome = unknown ? ({ outcome: 'unknown' } as const) : {}
        const failure = { success: false, error: message, error_code: code, ...extras, ...outcome } as const
        await this.#settle(store, claim, { ...this.#times(call), ...failure })
      }
      throw thrown
    }
  }

  #keyClaim(call: Call, tool: BoundTool, params: Params): OnceClaim {
    const key = call.idempotencyKey as string
    if (typeof key !== 'string' || key === '' || key.length > MAX_KEY_LENGTH || /[^\x20-\x7e]/.test(key)) {
      throw new ToolExecutionError(
        'INVALID_PARAMETERS',
        `The idempotency key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters`,
      )
    }
    return this.#claimOf(call, tool, params, key)
  }

  #claimOf(call: Call, tool: BoundTool, params: Params, key: string): OnceClaim {
    const retentionMs = call.context.callId === undefined ? RETENTION_MS : RUN_RETENTION_MS
    const expiresAt = this.#clock.wall() + retentionMs
    const fingerprint = hash('sha256', callKey(tool.name, call.userScope, params))
    return { tenant: call.tenant, caller: call.caller ?? '', key, fingerprint, expiresAt }
  }

  /** The stored result of a key when it is known; undefined if the key is fresh. */
  async #await(
    call: Call,
    claim: OnceClaim,
    ask: () => Promise<OnceState>,
    signal: CancelSignal,
  ): Promise<ToolResult | undefined> {
    const isOfRun = call.context.callId !== undefined
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
      const known = await ask().catch(unavailable)
      if (known.state === 'done') return known.result
      if (known.state === 'fresh') return undefined
      if (known.state === 'other') {
        // Nobody else uses the key of a step: the run continues, and the call has changed since.
        if (isOfRun) throw unknownOutcome('The call was begun before with other parameters')
        const message = `The idempotency key '${claim.key}' was used for another call: use a new key`
        throw new ToolExecutionError('INVALID_PARAMETERS', message)
      }
      if (known.state === 'lost') {
        const what = isOfApproval(claim) ? 'the approved call' : `the call with the idempotency key '${claim.key}'`
        throw unknownOutcome(`The server that ran ${what} has died`)
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

const unknownOutcome = (why: string): ToolExecutionError =>
  new ToolExecutionError('EXECUTION_ERROR', `${why}: check whether the call happened`, { outcome: 'unknown' })

function unavailable(cause: unknown): never {
  // The tenant stores too much.
  if (cause instanceof ToolExecutionError) throw cause
  const message = 'The store for idempotency keys is unavailable. The call did not run: try again later'
  throw new ToolExecutionError('SERVICE_UNAVAILABLE', message, {}, { cause })
}

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

/** Stores results in memory. If it is full, it forgets the oldest, or refuses more keys of the same tenant. */
export class MemoryOnce implements OnceStore {
  readonly #clock: Clock
  readonly #whenFull: 'forget' | 'refuse'
  /** By tenant, if it refuses. */
  readonly #entries = new Map<string, LRUCache<string, Entry>>()

  constructor(clock: Clock, whenFull: 'forget' | 'refuse' = 'forget') {
    this.#clock = clock
    this.#whenFull = whenFull
  }

  async claim(claim: OnceClaim): Promise<OnceState> {
    const entries = this.#of(claim)
    const state = this.#look(claim)
    if (state.state === 'fresh') {
      const isFull = () => entries.size >= MAX_ENTRIES || entries.calculatedSize >= MAX_CHARACTERS
      // A write must not run twice because its key was forgotten.
      if (this.#whenFull === 'refuse' && isFull() && (!entries.purgeStale() || isFull())) {
        throw new Error(`Tenant '${claim.tenant}' has too many idempotency keys in memory: use a store`)
      }
      this.#store(claim, '')
    }
    return state
  }

  async look(key: OnceKey): Promise<OnceState> {
    return this.#look(key)
  }

  async settle(claim: OnceClaim, result: ToolResult): Promise<void> {
    this.#store(claim, JSON.stringify(result))
  }

  async release(claim: OnceClaim): Promise<void> {
    this.#of(claim).delete(nameOf(claim))
  }

  #look({ fingerprint, ...key }: OnceKey): OnceState {
    const entry = this.#of(key).get(nameOf(key))
    if (entry === undefined) return { state: 'fresh' }
    if (fingerprint !== undefined && entry.fingerprint !== fingerprint) return { state: 'other' }
    return entry.text === '' ? { state: 'running' } : { state: 'done', result: JSON.parse(entry.text) }
  }

  #of({ tenant }: OnceKey): LRUCache<string, Entry> {
    const name = this.#whenFull === 'refuse' ? tenant : ''
    let entries = this.#entries.get(name)
    if (entries === undefined) {
      entries = new LRUCache({
        // A maximum would reserve memory for each tenant.
        ...(this.#whenFull === 'forget' && { max: MAX_ENTRIES }),
        // Room for the results of calls that run when it becomes full.
        maxSize: this.#whenFull === 'refuse' ? 4 * MAX_CHARACTERS : MAX_CHARACTERS,
        sizeCalculation: ({ text }, key) => text.length + key.length,
        ttlResolution: 0,
        perf: { now: () => this.#clock.wall() },
      })
      this.#entries.set(name, entries)
    }
    return entries
  }

  #store(claim: OnceClaim, text: string): void {
    const ttl = Math.max(1, claim.expiresAt - this.#clock.wall())
    this.#of(claim).set(nameOf(claim), { fingerprint: claim.fingerprint, text }, { ttl })
  }
}

const nameOf = ({ tenant, caller, key }: OnceKey): string => JSON.stringify([tenant, caller, key])
