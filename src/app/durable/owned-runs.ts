import { setImmediate as tick } from 'node:timers/promises'
import { ClientToolError } from '../../chat/client-tools.ts'
import type { Journal, JournalStep } from '../../chat/journal.ts'
import type { RunEvent, RunRequest } from '../../chat/run.ts'
import type { ToolLoop } from '../../chat/tool-loop.ts'
import { Cancellation, type CancelSignal } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import { FairPool } from '../../core/execution/fair-pool.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { OnceClaim, OnceKey, OnceResult, OnceState, OnceStore } from '../../core/once-store.ts'
import type { DurableRun, DurableRunStore, DurableStep } from '../../core/storage/durable-run-store.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { Message } from '../../models/model.ts'
import type { ChatQuestion, DurableRunData } from './durable-run-data.ts'

/** Runs that no client waits for. */
export const MAX_DETACHED = 100
/** Runs of one tenant that go on although their clients have left. */
const MAX_LEFT = 50

interface OwnedRunsOptions {
  readonly loop: () => ToolLoop
  readonly data: DurableRunData
  readonly store: DurableRunStore
  readonly once: OnceStore
  readonly clock: Clock
  readonly log: Log
  /** Whether the caller of a run has rights. */
  readonly mayGoOn: (run: DurableRun) => boolean
  /** Called when a place becomes free for a tenant that had none. */
  readonly onRoom: () => void
}

/** Stores what a run has added to a chat since it waited. */
export type OnChat = (run: DurableRun, question: ChatQuestion, messages: readonly Message[]) => Promise<void>

export type Events = AsyncGenerator<RunEvent, void, undefined>
type AnswerEvent = Extract<RunEvent, { readonly type: 'answer' }>

interface Owned {
  readonly run: DurableRun
  readonly ended: Promise<void>
  /** Ends it here, without a record. */
  readonly lose: () => void
}

/** The runs that this server works on, and the places that tenants have for them. */
export class OwnedRuns {
  readonly #options: OwnedRunsOptions
  readonly #runs = new Map<string, Owned>()
  /** For runs that no client waits for. A tenant holds at most half of them. */
  readonly #places = new FairPool<DurableRun>({ size: MAX_DETACHED, queue: 0 })
  /** By tenant: how many runs go on although their clients have left. */
  readonly #left = new Map<string, number>()
  /** Runs that could not be given up because the store failed. */
  readonly #stranded = new Map<string, number>()
  /** Called before a run of a chat ends or waits again. */
  onChat: OnChat | undefined = undefined

  constructor(options: OwnedRunsOptions) {
    this.#options = options
  }

  has(id: string): boolean {
    return this.#runs.has(id)
  }

  /** Resolves when the run has ended here. */
  ended(id: string): Promise<void> | undefined {
    return this.#runs.get(id)?.ended
  }

  /** Whether a run that no client waits for can begin. */
  hasRoom(tenant: string): boolean {
    return this.#places.hasRoom(tenant)
  }

  /** Clients that start runs and leave would have any number of them at a time. */
  refuseLeft(tenant: string): void {
    if ((this.#left.get(tenant) ?? 0) < MAX_LEFT) return
    const message = `Tenant '${tenant}' has ${MAX_LEFT} durable runs whose clients have left: wait until some have ended, or send "Prefer: respond-async"`
    throw new ToolExecutionError('RATE_LIMITED', message)
  }

  /** Ends a run here, without a record. */
  lose(id: string): void {
    this.#runs.get(id)?.lose()
  }

  /** Loses the runs that were cancelled by another server, or taken while this one seemed dead. */
  async loseTaken(): Promise<void> {
    const { store } = this.#options
    for (const [id, fence] of this.#stranded) {
      await store.release(id, fence)
      this.#stranded.delete(id)
    }
    const before = [...this.#runs]
    const owned = before.length === 0 ? undefined : new Set(await store.owned())
    for (const [id, { lose }] of before) if (owned?.has(id) === false) lose()
  }

  /** Gives up the runs of callers whose rights have become fewer: they continue with those. */
  async narrowCallers(ids: ReadonlySet<string>): Promise<void> {
    const runs = [...this.#runs.values()].filter(({ run }) => ids.has(run.caller))
    for (const { lose } of runs) lose()
    await Promise.all(runs.map(({ ended }) => ended))
  }

  /** Ends the runs of callers whose keys have ended. */
  async endCallers(ids: ReadonlySet<string>, why: string): Promise<void> {
    const { data, log, mayGoOn } = this.#options
    for (const { run, lose } of [...this.#runs.values()]) {
      if (!ids.has(run.caller) || mayGoOn(run)) continue
      lose()
      await data.fail(run, why).catch((err) => {
        writeLog(log, 'error', { err, run_id: run.id }, 'The run of an ended key could not be ended')
      })
    }
  }

  /** Leaves the runs to other servers, or to the next start. */
  async close(): Promise<void> {
    for (const { lose } of this.#runs.values()) lose()
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended))
  }

  /** Gives a run up. The next `loseTaken` tries again if the store fails. */
  async release({ id, fence }: DurableRun, untried = false): Promise<void> {
    await this.#options.store.release(id, fence, untried).catch(() => this.#stranded.set(id, fence))
  }

  /** Works on a run until it ends, waits, or is lost. `detached`: no client waits for it, so it takes a place. */
  drive(run: DurableRun, request: RunRequest, steps: readonly JournalStep[], detached = false): Feed {
    const hasPlace = detached && this.#places.enter(run.tenant)
    const feed = new Feed()
    const cancellation = new Cancellation()
    let lost = false
    const lose = () => {
      lost = true
      cancellation.abort(undefined)
    }
    const stay = detached ? () => {} : this.#watchClient(run.tenant, request.context?.signal)
    const ended = this.#follow(run, request, steps, { cancellation, isLost: () => lost }, feed).finally(() => {
      this.#runs.delete(run.id)
      stay()
      if (!hasPlace) return
      const wasFull = !this.#places.hasRoom(run.tenant)
      this.#places.leave(run.tenant)
      if (wasFull) this.#options.onRoom()
    })
    this.#runs.set(run.id, { run, ended, lose })
    return feed
  }

  /** Counts a run of a client that has left. Call the returned function when the run has ended. */
  #watchClient(tenant: string, client: CancelSignal | undefined): () => void {
    let hasLeft = false
    const count = (one: 1 | -1) => this.#left.set(tenant, (this.#left.get(tenant) ?? 0) + one)
    const leave = () => {
      hasLeft = true
      count(1)
    }
    if (client?.aborted) leave()
    else client?.addEventListener('abort', leave)
    return () => {
      client?.removeEventListener('abort', leave)
      if (hasLeft) count(-1)
      if (this.#left.get(tenant) === 0) this.#left.delete(tenant)
    }
  }

  async #follow(
    run: DurableRun,
    request: RunRequest,
    steps: readonly JournalStep[],
    { cancellation, isLost }: { readonly cancellation: Cancellation; readonly isLost: () => boolean },
    feed: Feed,
  ): Promise<void> {
    const { loop, data, store, once, clock, log } = this.#options
    const view = data.view(steps)
    const ledger = new RunLedger(run, { store, once, clock, log })
    let held: readonly DurableStep[] = []
    let refused = false
    let begun = false
    const lose = (error: unknown = new LostRun()): never => {
      refused = true
      throw error
    }
    const journal: Journal = {
      steps,
      startedAt: run.created_at,
      keyed: true,
      abandoned: () => refused || isLost(),
      append: async (step, how) => {
        if (isLost()) lose()
        const stored = data.sealed(run.id, step, view)
        if (how === 'claims') return ledger.begin(stored)
        // Stored with the answer of the run.
        if (how === 'waits') held = await ledger.steps(stored).catch(lose)
        else await ledger.append(stored).catch(lose)
      },
    }
    try {
      const context = { ...request.context, runId: run.id, signal: cancellation, once: ledger }
      for await (const event of loop().run({ ...request, context, journal })) {
        begun = true
        if (event.type !== 'answer') feed.add(event)
        else if (!isLost() && (await this.#end(run, event, held, feed))) continue
        else if ((await store.get(run.tenant, run.id))?.status !== 'cancelled') lose()
        else {
          const { approvals: _approvals, status: _status, ...rest } = event.answer
          feed.add({ ...event, answer: { ...rest, stop_reason: 'cancelled' } })
        }
      }
      feed.end()
    } catch (err) {
      if (!(err instanceof LostRun)) writeLog(log, 'error', { err, run_id: run.id }, 'A durable run was interrupted')
      await ledger.close()
      // The request itself is wrong: continuing the run would not help.
      const isHopeless = !begun && (err instanceof ClientToolError || err instanceof TypeError)
      if (isHopeless) await data.fail(run, err.message).catch(() => this.release(run))
      else await this.release(run)
      feed.end(err)
    } finally {
      await ledger.close()
    }
  }

  /** Returns false if the run was cancelled or taken elsewhere: then the answer isn't that of the run. */
  async #end(run: DurableRun, event: AnswerEvent, steps: readonly DurableStep[], feed: Feed): Promise<boolean> {
    const { data } = this.#options
    const answer = await data.withApprovals(run.id, run.tenant, event.answer)
    const chat = this.onChat && data.requestOf(run).chat
    if (chat !== undefined) await this.onChat?.(run, chat, event.messages)
    const ended = await data.end(run, answer, steps)
    if (ended) feed.add({ ...event, answer })
    return ended
  }
}

/** The events of a run for a client that may leave. */
class Feed {
  #events: RunEvent[] = []
  #wake: () => void = () => {}
  #over = false
  #error: unknown = undefined
  #left = true

  add(event: RunEvent): void {
    if (this.#left) return
    this.#events.push(event)
    this.#wake()
  }

  end(error?: unknown): void {
    this.#over = true
    this.#error = error
    this.#wake()
  }

  /** Must be called before the run has sent its first event. */
  read(): Events {
    this.#left = false
    return this.#read()
  }

  async *#read(): Events {
    try {
      for (;;) {
        const event = this.#events.shift()
        if (event !== undefined) yield event
        else if (this.#over) break
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
      }
      if (this.#error !== undefined) throw this.#error
    } finally {
      this.#left = true
      this.#events = []
    }
  }
}

interface RunLedgerOptions {
  readonly store: DurableRunStore
  readonly once: OnceStore
  readonly clock: Clock
  readonly log: Log
}

interface Claimed extends PromiseWithResolvers<OnceState> {
  readonly claim: OnceClaim
}

/** The run goes on elsewhere, or was cancelled. */
export class LostRun extends Error {
  constructor() {
    super('The run was cancelled, or goes on elsewhere')
  }
}

/**
 * Stores the steps of a run together with the idempotency keys of its calls. What happens in one tick is one commit: an
 * answer with the keys that its calls claim, and results with those of their keys that ended last.
 */
export class RunLedger implements OnceStore {
  readonly #run: DurableRun
  readonly #options: RunLedgerOptions
  #answer: DurableStep | undefined = undefined
  #claimed: Claimed[] = []
  #results: OnceResult[] = []
  #scheduled = false
  /** The commit of the last answer. */
  #begun: Promise<void> = Promise.resolve()
  #closed: Promise<void> = Promise.resolve()

  constructor(run: DurableRun, options: RunLedgerOptions) {
    this.#run = run
    this.#options = options
  }

  /** Stores an answer when its calls have claimed their keys. */
  begin(answer: DurableStep): void {
    this.#answer = answer
    this.#schedule()
  }

  /** Rejects with LostRun if the run belongs to another server. */
  async append(step: DurableStep): Promise<void> {
    const { store, clock } = this.#options
    const steps = await this.steps(step)
    const results = this.#results.splice(0)
    try {
      if (!(await store.append(this.#run.id, this.#run.fence, steps, clock.wall(), results))) throw new LostRun()
    } catch (error) {
      // The next owner of the run may wait for them.
      this.#results.push(...results)
      await this.close()
      throw error
    }
  }

  /** The step, after an answer that is not stored yet because no call claimed a key. */
  async steps(step: DurableStep): Promise<readonly DurableStep[]> {
    await this.#begun
    const answer = this.#answer
    this.#answer = undefined
    return answer === undefined ? [step] : [answer, step]
  }

  async claim(claim: OnceClaim): Promise<OnceState> {
    if (this.#answer === undefined) {
      // Nothing is written for an answer that is not stored, or by a server that has lost the run.
      await this.#begun
      const { store, clock } = this.#options
      const [state] = (await store.begin(this.#run.id, this.#run.fence, undefined, clock.wall(), [claim])) ?? []
      if (state === undefined) throw new LostRun()
      return state
    }
    const claimed = { claim, ...Promise.withResolvers<OnceState>() }
    this.#claimed.push(claimed)
    return claimed.promise
  }

  /** When the answer is stored: a call without a result may ask for approval next. */
  async look(key: OnceKey): Promise<OnceState> {
    if (this.#answer !== undefined) await tick()
    await this.#begun
    return this.#options.once.look(key)
  }

  /** The result of a call that this server has begun, also if it has lost the run since: the next owner may wait for it. */
  async settle(claim: OnceClaim, result: ToolResult): Promise<void> {
    this.#results.push({ claim, result })
    this.#schedule()
  }

  release(claim: OnceClaim): Promise<void> {
    return this.#options.once.release(claim)
  }

  /** Stores results that no step was stored with. */
  close(): Promise<void> {
    this.#closed = this.#closed.then(() => this.#storeResults())
    return this.#closed
  }

  async #storeResults(): Promise<void> {
    const { once, log } = this.#options
    for (const { claim, result } of this.#results.splice(0)) {
      await once.settle(claim, result).catch((err) => {
        const fields = { err, tool: result.tool_name, run_id: this.#run.id }
        writeLog(log, 'error', fields, 'Could not store the result of a call with an idempotency key')
      })
    }
  }

  /** Calls claim their keys, and a run stores the results of its last calls, before the next tick. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (this.#answer !== undefined) {
        this.#begun = this.#begin(this.#answer, this.#claimed.splice(0))
        this.#begun.catch(() => {})
        this.#answer = undefined
      }
      void this.close()
    })
  }

  async #begin(answer: DurableStep, claimed: readonly Claimed[]): Promise<void> {
    const { store, clock } = this.#options
    const claims = claimed.map(({ claim }) => claim)
    try {
      const states = await store.begin(this.#run.id, this.#run.fence, answer, clock.wall(), claims)
      if (states === undefined) throw new LostRun()
      for (const [index, { resolve }] of claimed.entries()) resolve(states[index] as OnceState)
    } catch (error) {
      for (const { reject } of claimed) reject(error)
      throw error
    }
  }
}
