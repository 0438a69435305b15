import { ClientToolError } from '../chat/client-tools.ts'
import type { Journal, JournalStep } from '../chat/journal.ts'
import type { RunAnswer, RunEvent, RunRequest } from '../chat/run.ts'
import type { ToolLoop } from '../chat/tool-loop.ts'
import type { CallContext } from '../core/call-context.ts'
import { Cancellation, type CancelSignal, pause } from '../core/cancellation.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import { FairPool } from '../core/execution/fair-pool.ts'
import { writeLog } from '../core/log.ts'
import type { DurableRun, DurableStep } from '../core/storage/durable-run-store.ts'
import type { OnceStore } from '../core/storage/once-store.ts'
import type { RunStep } from '../core/storage/run-store.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import type { Message } from '../models/model.ts'
import type { ModelCatalogue } from '../models/model-catalogue.ts'
import { UnknownModelError } from '../models/model-error.ts'
import {
  type ChatQuestion,
  type DurableOptions,
  DurableRunData,
  type DurableRunDataOptions,
} from './durable-run-data.ts'
import { LostRun, RunLedger } from './run-ledger.ts'

/** Finds runs whose server has died or whose approvals have expired. One query and one timer for all runs. */
const POLL_MS = 5_000
const FOLLOW_HERE_MS = 100
const FOLLOW_ELSEWHERE_MS = 1_000
/** Runs that no client waits for. */
const MAX_DETACHED = 100
/** Runs of one tenant that go on although their clients have left. */
const MAX_LEFT = 50
const MAX_RESUMES = 5
const KEY_ENDED = 'The API key that started the run was revoked or has expired'

export interface DurableRunsOptions extends DurableRunDataOptions {
  readonly loop: () => ToolLoop
  readonly once: OnceStore
  readonly models: () => Promise<ModelCatalogue>
  /** The caller with its current rights; undefined if its key is no longer valid, null if there never was one. */
  readonly contextOf: (caller: string, session: string | undefined) => CallContext | null | undefined
}

/** Stores what a run has added to a chat since it waited. */
type OnChat = (run: DurableRun, question: ChatQuestion, messages: readonly Message[]) => Promise<void>

type Events = AsyncGenerator<RunEvent, void, undefined>
type AnswerEvent = Extract<RunEvent, { readonly type: 'answer' }>

/** An event of a run for people who follow it. */
export interface RunNews {
  readonly event: string
  /** Only steps have one. */
  readonly id?: number
  readonly data: object
}

/** A run of this server. */
interface Running {
  readonly run: DurableRun
  readonly ended: Promise<void>
  /** Ends it here, without a record. */
  readonly lose: () => void
}

/** The run can't be continued, now or later. */
class HopelessRun extends Error {}

/** Runs that survive their process: they wait for approvals, and continue after a crash. */
export class DurableRuns {
  readonly #options: DurableRunsOptions
  readonly #data: DurableRunData
  readonly #running = new Map<string, Running>()
  /** For runs that no client waits for. A tenant holds at most half of them. */
  readonly #places = new FairPool<DurableRun>({ size: MAX_DETACHED, queue: 0 })
  /** By tenant: how many runs go on although their clients have left. */
  readonly #left = new Map<string, number>()
  /** Runs that were encrypted with another key, or that another program has started. */
  readonly #foreign = new Set<string>()
  /** Runs that could not be given up because the store failed. */
  readonly #stranded = new Map<string, number>()
  #stopPolling: () => void = () => {}
  #polling: Promise<void> | undefined
  #pollAgain = false
  #working = false
  #closing = false
  /** Called before a run of a chat ends or waits again. */
  onChat: OnChat | undefined = undefined

  constructor(options: DurableRunsOptions) {
    this.#options = options
    this.#data = new DurableRunData(options)
  }

  /** A run that becomes durable when one of its calls needs approval. It ends with its client. */
  async *pausing(request: RunRequest, options: DurableOptions = {}): Events {
    const steps: JournalStep[] = []
    const append = async (step: JournalStep) => void steps.push(step)
    const { tenant = LOCAL_TENANT, runId } = request.context ?? {}
    let orphans = runId !== undefined
    try {
      for await (const event of this.#options
        .loop()
        .run({ ...request, journal: { steps: [], keyed: false, append } })) {
        const waits = event.type === 'answer' && event.answer.stop_reason === 'approval_required'
        const given = waits
          ? { ...event, answer: await this.#data.pause(request, options, event.answer, steps) }
          : event
        if (given.type === 'answer') orphans = waits && given.answer.status !== 'waiting'
        yield given
      }
    } finally {
      if (orphans) await this.#data.expire(tenant, runId ?? '')
    }
  }

  /**
   * Starts a durable run. It goes on without its client. Resolves when the run is stored. There are no events if the client
   * does not wait for them: then the run begins when there is a place for it.
   */
  async start(request: RunRequest, options: DurableOptions = {}, detached = false): Promise<Events> {
    const { tenant = LOCAL_TENANT } = request.context ?? {}
    // Clients that start runs and leave would have any number of them at a time.
    if (!detached && (this.#left.get(tenant) ?? 0) >= MAX_LEFT) {
      const message = `Tenant '${tenant}' has ${MAX_LEFT} durable runs whose clients have left: wait until some have ended, or send "Prefer: respond-async"`
      throw new ToolExecutionError('RATE_LIMITED', message)
    }
    const created = await this.#data.create(request, options)
    if (created === undefined) {
      throw new ToolExecutionError('INVALID_PARAMETERS', `The run '${request.context?.runId}' was started before`)
    }
    if (!detached) return this.#drive(created, request, []).read()
    if (this.#places.hasRoom(created.tenant)) this.#drive(created, request, [], true)
    else await this.#release(created)
    return noEvents()
  }

  /** Starts a durable run and gives its events; none if the client does not wait for them. */
  async *run(request: RunRequest, options: DurableOptions = {}, detached = false): Events {
    yield* await this.start(request, options, detached)
  }

  /** Continues a run that is due. Gives the stored answer of one that waits or has ended. */
  async resume(run: DurableRun, given: Pick<RunRequest, 'model' | 'prices' | 'context'>): Promise<Events> {
    const { store, clock } = this.#options
    const { model: _model, session: _session, chat: _chat, ...request } = this.#data.requestOf(run)
    const taken = await store.take(run.id, clock.wall())
    if (taken === undefined) {
      const { status, answer } = (await store.get(run.tenant, run.id)) ?? run
      if (status !== 'running' && answer !== null) return answered(this.answerOf({ ...run, answer }) as RunAnswer)
      throw new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        `The run '${run.id}' is running, or was cancelled: it is ${status}`,
      )
    }
    const steps = await this.#data.stepsOf(run)
    return this.#drive(taken, { ...request, ...given }, steps).read()
  }

  /** The model that a run uses. */
  modelOf(run: DurableRun): string {
    return this.#data.requestOf(run).model
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

  /** A run that has no record yet, bounded and redacted, with its figures so far. */
  async view(run: DurableRun): Promise<object> {
    return { ...(await this.#data.record(run)), status: run.status }
  }

  /**
   * The steps after the first `after` for people, numbered from 1, and the run whenever its status changes; the last event is
   * `end`. Reads the store, so that it works on any server. Ends early if the signal aborts.
   */
  async *events({ tenant, id }: DurableRun, after: number, signal: AbortSignal): AsyncGenerator<RunNews> {
    const { store } = this.#options
    let [stored, given, last] = [0, 0, 'running']
    while (!signal.aborted) {
      // Before the steps: all steps of a run that has ended are stored.
      const run = await store.get(tenant, id)
      if (run === undefined) return
      for (const { shown } of await store.shown(tenant, id, stored)) {
        stored++
        for (const step of JSON.parse(shown) as RunStep[]) {
          if (++given > after) yield { event: step.type, id: given, data: step }
        }
      }
      const { status } = run
      if (status !== last) {
        const event = run.ended_at === null ? status : 'end'
        yield { event, data: { ...(status !== 'running' && this.answerOf(run)), run_id: id, status } }
        last = status
      }
      if (run.ended_at !== null) return
      await this.#news(id, signal)
    }
  }

  /** Waits until the run has ended, or `waits` says of its answer that a person has to decide. */
  async settled(
    { tenant, id }: DurableRun,
    waits: (answer: RunAnswer) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<RunAnswer | undefined> {
    while (!signal.aborted) {
      const run = await this.#options.store.get(tenant, id)
      const answer = run && run.status !== 'running' ? this.answerOf(run) : undefined
      if (run === undefined || run.ended_at !== null) return answer
      if (answer !== undefined && (await waits(answer))) return answer
      await this.#news(id, signal)
    }
    return undefined
  }

  /** The answer of a run that waits or has ended. */
  answerOf(run: DurableRun): RunAnswer | undefined {
    return this.#data.answerOf(run)
  }

  /** Returns false if the run has ended. */
  async cancel(run: DurableRun): Promise<boolean> {
    const cancelled = await this.#data.cancel(run)
    if (cancelled) this.#running.get(run.id)?.lose()
    return cancelled
  }

  /** Ends the runs of callers whose keys have ended. Those that wait fail when they would go on. */
  async endCallers(ids: ReadonlySet<string>): Promise<void> {
    for (const { run, lose } of [...this.#running.values()]) {
      if (!ids.has(run.caller)) continue
      lose()
      await this.#data.fail(run, KEY_ENDED).catch((err) => {
        writeLog(this.#options.log, 'error', { err, run_id: run.id }, 'The run of an ended key could not be ended')
      })
    }
  }

  /** Leaves the runs to other servers, or to the next start. */
  async close(): Promise<void> {
    this.#closing = true
    this.#stopPolling()
    await this.#polling
    for (const { lose } of this.#running.values()) lose()
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  /** Waits until it makes sense to look at the run again. */
  async #news(id: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const wait = pause(this.#running.has(id) ? FOLLOW_HERE_MS : FOLLOW_ELSEWHERE_MS, clock, signal)
    await Promise.race([wait, this.#running.get(id)?.ended ?? wait]).catch(() => {})
  }

  async #poll(): Promise<void> {
    const { store, clock, log } = this.#options
    try {
      for (const [id, fence] of this.#stranded) {
        await store.release(id, fence)
        this.#stranded.delete(id)
      }
      const before = [...this.#running]
      const owned = before.length === 0 ? undefined : new Set(await store.owned())
      // Cancelled by another server, or taken while this one seemed dead.
      for (const [id, { lose }] of before) if (owned?.has(id) === false) lose()
      for (const { id, tenant } of await store.due(clock.wall(), MAX_DETACHED + this.#foreign.size)) {
        const isOurs = !this.#running.has(id) && !this.#foreign.has(id)
        if (isOurs && this.#places.hasRoom(tenant)) await this.#resume(id)
      }
    } catch (err) {
      if (!this.#closing) writeLog(log, 'error', { err }, 'Could not look for runs to continue')
    }
  }

  async #resume(id: string): Promise<void> {
    const { store, clock, log } = this.#options
    const run = await store.take(id, clock.wall())
    if (run === undefined) return
    try {
      const { request, steps } = await this.#restore(run)
      writeLog(log, 'info', { run_id: id, steps: steps.length, resumes: run.resumes }, 'Continuing a run')
      this.#drive(run, request, steps, true)
    } catch (err) {
      writeLog(log, 'error', { err, run_id: id }, 'A run cannot be continued')
      if (err instanceof HopelessRun || err instanceof UnknownModelError) return this.#data.fail(run, err.message)
      // Another server may have the encryption key, or this one after a restart.
      const isForeign = err instanceof ToolExecutionError && err.code === 'SERVICE_UNAVAILABLE'
      if (isForeign) this.#foreign.add(id)
      await this.#release(run, isForeign)
    }
  }

  /** Reads the request and the steps of a run, with the current rights of its caller. */
  async #restore(run: DurableRun): Promise<{ request: RunRequest; steps: JournalStep[] }> {
    const { models, contextOf } = this.#options
    const { id, resumes } = run
    if (resumes > MAX_RESUMES) throw new HopelessRun(`The run was resumed ${MAX_RESUMES} times without progress`)
    const { model: name, session, chat: _chat, ...request } = this.#data.requestOf(run)
    const context = contextOf(run.caller, session)
    if (context === undefined) throw new HopelessRun(KEY_ENDED)
    if (context === null) {
      throw new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        `There is no caller '${run.caller}': its own program continues it`,
      )
    }
    const catalogue = await models()
    const model = catalogue.get(name, context.models)
    const { prices } = catalogue.info(name)
    const steps = await this.#data.stepsOf(run)
    return { request: { ...request, model, prices, context: { ...context, runId: id } }, steps }
  }

  /** The next poll tries again if the store fails. */
  async #release({ id, fence }: DurableRun, untried = false): Promise<void> {
    await this.#options.store.release(id, fence, untried).catch(() => this.#stranded.set(id, fence))
  }

  #drive(run: DurableRun, request: RunRequest, steps: readonly JournalStep[], detached = false): Feed {
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
      this.#running.delete(run.id)
      stay()
      if (!hasPlace) return
      const wasFull = !this.#places.hasRoom(run.tenant)
      this.#places.leave(run.tenant)
      if (wasFull) this.wake()
    })
    this.#running.set(run.id, { run, ended, lose })
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
    const { loop, store, once, clock, log } = this.#options
    const view = this.#data.view(steps)
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
        const stored = this.#data.sealed(run.id, step, view)
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
      if (isHopeless) await this.#data.fail(run, err.message).catch(() => this.#release(run))
      else await this.#release(run)
      feed.end(err)
    } finally {
      await ledger.close()
    }
  }
  /** Returns false if the run was cancelled or taken elsewhere: then the answer isn't that of the run. */
  async #end(run: DurableRun, event: AnswerEvent, steps: readonly DurableStep[], feed: Feed): Promise<boolean> {
    const answer = await this.#data.withApprovals(run.id, run.tenant, event.answer)
    const chat = this.onChat && this.#data.requestOf(run).chat
    if (chat !== undefined) await this.onChat?.(run, chat, event.messages)
    const ended = await this.#data.end(run, answer, steps)
    if (ended) feed.add({ ...event, answer })
    return ended
  }
}

async function* answered(answer: RunAnswer): Events {
  yield { type: 'answer', answer, messages: [] }
}

async function* noEvents(): Events {}

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
