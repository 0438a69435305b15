import { hash } from 'node:crypto'
import type { Journal, JournalStep } from '../chat/journal.ts'
import type { PendingApproval, RunAnswer, RunEvent, RunRequest } from '../chat/run.ts'
import { StepView } from '../chat/run-record.ts'
import type { ToolLoop } from '../chat/tool-loop.ts'
import type { CallContext } from '../core/call-context.ts'
import { Cancellation } from '../core/cancellation.ts'
import type { Clock } from '../core/clock.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { TextSeal } from '../core/sealed-text.ts'
import type {
  DurableEnd,
  DurableRun,
  DurableRunStore,
  DurableStep,
  NewDurableRun,
} from '../core/storage/durable-run-store.ts'
import type { PauseStore } from '../core/storage/pause-store.ts'
import type { Quota } from '../core/storage/quota.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import type { ModelCatalogue } from '../models/model-catalogue.ts'

/** Finds runs whose server has died or whose approvals have expired. One query and one timer for all runs. */
const POLL_MS = 5_000
const MAX_RUNNING = 100
const MAX_RESUMES = 5

export interface DurableRunsOptions {
  readonly store: DurableRunStore
  readonly pauses: PauseStore
  readonly seal: TextSeal
  readonly log: Log
  readonly clock: Clock
  readonly quota: (tenant: string) => Quota
  readonly loop: () => ToolLoop
  readonly models: () => Promise<ModelCatalogue>
  /** The caller with its current rights; undefined if its key is no longer valid. */
  readonly contextOf: (caller: string, session: string | undefined) => CallContext | undefined
  /** Whether texts, parameters and results are shown. */
  readonly showsContents: () => boolean
}

export interface DurableOptions {
  readonly session?: string | undefined
  /** A hash of the request, if an idempotency key started the run. */
  readonly fingerprint?: string
}

/** The request as it is stored. */
interface StoredRequest extends Omit<RunRequest, 'model' | 'context' | 'journal' | 'prices'> {
  readonly model: string
  readonly session?: string
}

type Events = AsyncGenerator<RunEvent, void, undefined>
type Owned = Pick<DurableRun, 'id' | 'tenant' | 'fence'>

/** The run goes on elsewhere, or was cancelled. */
class LostRun extends Error {}

/** Runs that survive their process: they wait for approvals, and continue after a crash. */
export class DurableRuns {
  readonly #options: DurableRunsOptions
  readonly #running = new Map<string, { readonly cancellation: Cancellation; readonly ended: Promise<void> }>()
  /** Runs that could not be given up because the store failed. */
  readonly #stranded = new Map<string, number>()
  #stopPolling: () => void = () => {}
  #polling: Promise<void> | undefined
  #pollAgain = false
  #working = false
  #closing = false

  constructor(options: DurableRunsOptions) {
    this.#options = options
  }

  /** A run that becomes durable when one of its calls needs approval. It ends with its client. */
  async *pausing(request: RunRequest, options: DurableOptions = {}): Events {
    const steps: JournalStep[] = []
    const append = async (step: JournalStep) => void steps.push(step)
    for await (const event of this.#options.loop().run({ ...request, journal: { steps: [], keyed: false, append } })) {
      if (event.type !== 'answer' || event.answer.stop_reason !== 'approval_required') yield event
      else yield { ...event, answer: await this.#pause(request, options, event.answer, steps) }
    }
  }

  /** Starts a durable run. It goes on without its client. Resolves when the run is stored. */
  async start(request: RunRequest, options: DurableOptions = {}): Promise<Events> {
    const run = this.#newRun(request, options)
    const { store, quota } = this.#options
    const created = await store.create(run, quota(run.tenant))
    if (created === undefined)
      throw new ToolExecutionError('INVALID_PARAMETERS', `The run '${run.id}' was started before`)
    return this.#drive(created, request, []).read()
  }

  /** Starts a durable run and gives its events; none if the client does not wait for them. */
  async *run(request: RunRequest, options: DurableOptions = {}, detached = false): Events {
    const events = await this.start(request, options)
    if (!detached) yield* events
  }

  /** Continues runs that are due, from now on. */
  work(): void {
    this.#working = true
    this.wake()
  }

  /** Looks for runs that are due. */
  wake(): void {
    if (!this.#working || this.#closing) return
    if (this.#polling !== undefined) {
      this.#pollAgain = true
      return
    }
    this.#stopPolling()
    this.#polling = this.#poll().finally(() => {
      this.#polling = undefined
      if (this.#closing) return
      if (this.#pollAgain) {
        this.#pollAgain = false
        this.wake()
      } else this.#stopPolling = this.#options.clock.after(POLL_MS, () => this.wake())
    })
  }

  get(tenant: string, id: string): Promise<DurableRun | undefined> {
    return this.#options.store.get(tenant, id)
  }

  /** A run that has no record yet, bounded and redacted. */
  async view({ id, tenant, caller, model, status, created_at }: DurableRun): Promise<object> {
    const shown = await this.#options.store.shown(tenant, id, 0)
    const steps = shown.flatMap((step): unknown[] => JSON.parse(step.shown))
    return { id, tenant, caller, model, started_at: new Date(created_at).toISOString(), status, steps }
  }

  /** The answer of a run that waits or has ended. */
  answerOf({ id, answer }: DurableRun): RunAnswer | undefined {
    return answer === null ? undefined : JSON.parse(this.#options.seal.open(answer, id))
  }

  /** Returns false if the run has ended. */
  async cancel(tenant: string, id: string): Promise<boolean> {
    const { store, clock } = this.#options
    const cancelled = await store.cancel(tenant, id, clock.wall())
    if (cancelled) this.#running.get(id)?.cancellation.abort(undefined)
    return cancelled
  }

  /** Leaves the runs to other servers, or to the next start. */
  async close(): Promise<void> {
    this.#closing = true
    this.#stopPolling()
    await this.#polling
    for (const { cancellation } of this.#running.values()) cancellation.abort(undefined)
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  async #poll(): Promise<void> {
    const { store, clock, log } = this.#options
    try {
      for (const [id, fence] of this.#stranded) {
        await store.release(id, fence)
        this.#stranded.delete(id)
      }
      for (const id of await store.due(clock.wall(), MAX_RUNNING - this.#running.size)) {
        if (!this.#running.has(id)) await this.#resume(id)
      }
    } catch (err) {
      if (!this.#closing) writeLog(log, 'error', { err }, 'Could not look for runs to continue')
    }
  }

  async #resume(id: string): Promise<void> {
    const { store, seal, clock, log, models, contextOf } = this.#options
    const run = await store.take(id, clock.wall())
    if (run === undefined) return
    try {
      if (run.resumes > MAX_RESUMES) throw new Error(`The run was resumed ${MAX_RESUMES} times without progress`)
      const { model: name, session, ...request }: StoredRequest = JSON.parse(seal.open(run.request, id))
      const context = contextOf(run.caller, session)
      if (context === undefined) throw new Error('The API key that started the run was revoked or has expired')
      const catalogue = await models()
      const model = catalogue.get(name, context.models)
      const { prices } = catalogue.info(name)
      const steps = (await store.data(id)).map((data): JournalStep => JSON.parse(seal.open(data, id)))
      writeLog(log, 'info', { run_id: id, steps: steps.length, resumes: run.resumes }, 'Continuing a run')
      this.#drive(run, { ...request, model, prices, context: { ...context, runId: id } }, steps)
    } catch (err) {
      writeLog(log, 'error', { err, run_id: id }, 'A run cannot be continued')
      // The store fails, or the encryption key is missing: another server may have it.
      if (err instanceof ToolExecutionError) return store.release(id, run.fence)
      const { message: error } = err as Error
      const [service = '', model = ''] = run.model.split(':', 2)
      const answer = { content: '', service, model, tool_calls: [], stop_reason: 'error', error } as const
      await this.#end(run, 'failed', answer, [])
    }
  }

  #drive(run: Owned, request: RunRequest, steps: readonly JournalStep[]): Feed {
    const feed = new Feed()
    const cancellation = new Cancellation()
    const ended = this.#follow(run, request, steps, cancellation, feed).finally(() => {
      this.#running.delete(run.id)
      if (this.#running.size === MAX_RUNNING - 1) this.wake()
    })
    this.#running.set(run.id, { cancellation, ended })
    return feed
  }

  async #follow(
    run: Owned,
    request: RunRequest,
    steps: readonly JournalStep[],
    cancellation: Cancellation,
    feed: Feed,
  ): Promise<void> {
    const { loop, store, clock, log } = this.#options
    const view = new StepView(steps, this.#options.showsContents())
    let held: DurableStep[] = []
    let lost = false
    const lose = (): never => {
      lost = true
      throw new LostRun('The run was cancelled, or goes on elsewhere')
    }
    const journal: Journal = {
      steps,
      keyed: true,
      abandoned: () => lost || this.#closing,
      append: async (step, waits) => {
        if (this.#closing) lose()
        const stored = this.#sealed(run.id, step, view)
        // Stored with the answer.
        if (waits) held = [stored]
        else if (!(await store.append(run.id, run.fence, [stored], clock.wall()))) lose()
      },
    }
    try {
      const context = { ...request.context, runId: run.id, signal: cancellation }
      for await (const event of loop().run({ ...request, context, journal })) {
        if (event.type !== 'answer') feed.add(event)
        else if (this.#closing) lose()
        else {
          const answer = await this.#withApprovals(run, event.answer)
          // A cancelled run has ended already.
          await this.#end(run, statusOf(answer), answer, held)
          feed.add({ ...event, answer })
        }
      }
      feed.end()
    } catch (err) {
      if (!(err instanceof LostRun)) writeLog(log, 'error', { err, run_id: run.id }, 'A durable run was interrupted')
      await store.release(run.id, run.fence).catch(() => this.#stranded.set(run.id, run.fence))
      feed.end(err)
    }
  }

  async #pause(
    request: RunRequest,
    options: DurableOptions,
    given: RunAnswer,
    steps: readonly JournalStep[],
  ): Promise<RunAnswer> {
    const { store, quota, clock } = this.#options
    const run = this.#newRun(request, options)
    const view = new StepView([], this.#options.showsContents())
    const answer = await this.#withApprovals(run, given)
    const stored = steps.map((step) => this.#sealed(run.id, step, view))
    try {
      await store.create(run, quota(run.tenant), this.#ending(run.id, 'waiting', answer, stored, clock.wall()))
      return answer
    } catch (error) {
      if (!(error instanceof ToolExecutionError)) throw error
      const { approvals: _approvals, status: _status, ...rest } = answer
      return { ...rest, content: error.message, stop_reason: 'error', error: error.message }
    }
  }

  async #end(
    run: Owned,
    status: DurableEnd['status'],
    answer: RunAnswer,
    steps: readonly DurableStep[],
  ): Promise<void> {
    const { store, clock } = this.#options
    await store.end(run.id, run.fence, this.#ending(run.id, status, answer, steps, clock.wall()))
  }

  #ending(
    id: string,
    status: DurableEnd['status'],
    answer: RunAnswer,
    steps: readonly DurableStep[],
    at: number,
  ): DurableEnd {
    return { status, answer: this.#options.seal.seal(JSON.stringify(answer), id), at, steps }
  }

  #sealed(id: string, step: JournalStep, view: StepView): DurableStep {
    const shown = JSON.stringify(view.of(step, new Date(this.#options.clock.wall()).toISOString()))
    return { kind: step.kind, data: this.#options.seal.seal(JSON.stringify(step), id), shown }
  }

  /** Adds when the approvals were asked for, and the validated parameters. */
  async #withApprovals({ id, tenant }: Pick<Owned, 'id' | 'tenant'>, answer: RunAnswer): Promise<RunAnswer> {
    if (answer.approvals === undefined) return answer
    const stored = answer.approvals.map(async (approval): Promise<PendingApproval> => {
      const pause = await this.#options.pauses.get(tenant, approval.id)
      if (pause === undefined) return approval
      return { ...approval, params: pause.params, requested_at: new Date(pause.requested_at).toISOString() }
    })
    return { ...answer, run_id: id, approvals: await Promise.all(stored) }
  }

  #newRun(request: RunRequest, { session, fingerprint = '' }: DurableOptions): NewDurableRun {
    const { model, context = {}, journal: _journal, prices: _prices, ...rest } = request
    const { tenant = LOCAL_TENANT, caller = '', runId: id } = context
    if (id === undefined) throw new TypeError('A durable run needs context.runId')
    const stored: StoredRequest = { ...rest, model: model.id, ...(session !== undefined && { session }) }
    const sealed = this.#options.seal.seal(JSON.stringify(stored), id)
    return { id, tenant, caller, model: model.id, fingerprint, request: sealed, created_at: this.#options.clock.wall() }
  }
}

/** The id of the run that an idempotency key of a caller starts. */
export const keyedRunId = (tenant: string, caller: string, key: string): string =>
  hash('sha256', JSON.stringify(['run', tenant, caller, key])).slice(0, 32)

function statusOf({ stop_reason }: RunAnswer): DurableEnd['status'] {
  if (stop_reason === 'approval_required') return 'waiting'
  if (stop_reason === 'cancelled') return 'cancelled'
  return stop_reason === 'error' ? 'failed' : 'finished'
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
