import { ClientToolError } from '../../chat/client-tools.ts'
import type { Journal, JournalStep } from '../../chat/journal.ts'
import type { RunEvent, RunRequest } from '../../chat/run.ts'
import type { ToolLoop } from '../../chat/tool-loop.ts'
import { Cancellation, type CancelSignal } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import { FairPool } from '../../core/execution/fair-pool.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { OnceStore } from '../../core/once-store.ts'
import type { DurableRun, DurableRunStore, DurableStep } from '../../core/storage/durable-run-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { Message } from '../../models/model.ts'
import type { ChatQuestion, DurableRunData } from './durable-run-data.ts'
import { LostRun, RunLedger } from './run-ledger.ts'

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
