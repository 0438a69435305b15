import type { JournalStep } from '../../chat/journal.ts'
import type { RunAnswer, RunRequest } from '../../chat/run.ts'
import type { ToolLoop } from '../../chat/tool-loop.ts'
import type { CallContext } from '../../core/call-context.ts'
import { pause } from '../../core/cancellation.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import { writeLog } from '../../core/log.ts'
import type { OnceStore } from '../../core/once-store.ts'
import type { DurableRun, OpenRunFilter } from '../../core/storage/durable-run-store.ts'
import type { ListedRun, RunStep } from '../../core/storage/run-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { ModelCatalogue } from '../../models/model-catalogue.ts'
import { UnknownModelError } from '../../models/model-error.ts'
import { chainedCall, type DurableOptions, DurableRunData, type DurableRunDataOptions } from './durable-run-data.ts'
import { type Events, MAX_DETACHED, type OnChat, OwnedRuns } from './owned-runs.ts'

/** Finds runs whose server has died or whose approvals have expired. One query and one timer for all runs. */
const POLL_MS = 5_000
const FOLLOW_HERE_MS = 100
const FOLLOW_ELSEWHERE_MS = 1_000
const MAX_RESUMES = 5
const KEY_ENDED = 'The API key that started the run was revoked or has expired, or the sign-in of its user has ended'

interface DurableRunsOptions extends DurableRunDataOptions {
  readonly loop: () => ToolLoop
  readonly once: OnceStore
  readonly models: () => Promise<ModelCatalogue>
  /**
   * The caller of a run with its current rights, or those of a user when the run was woken; undefined if its key is no longer
   * valid, null if there never was one.
   */
  readonly contextOf: (run: DurableRun, session: string | undefined) => CallContext | null | undefined
}

/** An event of a run for people who follow it. */
interface RunNews {
  readonly event: string
  /** Only steps have one. */
  readonly id?: number
  readonly data: object
}

/** A run in a list that has not ended, with the figures of its steps so far. */
export type OpenRun = ListedRun & { readonly status: DurableRun['status'] }

/** A run with this id was started: by an earlier request with its idempotency key, or at the same time. */
export class StartedBefore extends ToolExecutionError {
  constructor(message: string) {
    super('INVALID_PARAMETERS', message)
  }
}

/** The run can't be continued, now or later. */
class HopelessRun extends Error {}

/** Runs that survive their process: they wait for approvals, and continue after a crash. */
export class DurableRuns {
  readonly #options: DurableRunsOptions
  readonly #data: DurableRunData
  readonly #owned: OwnedRuns
  /** Runs that were encrypted with another key, or that another program has started. */
  readonly #foreign = new Set<string>()
  #stopPolling: () => void = () => {}
  #polling: Promise<void> | undefined
  #pollAgain = false
  #working = false
  #closing = false

  constructor(options: DurableRunsOptions) {
    this.#options = options
    this.#data = new DurableRunData(options)
    const mayGoOn = (run: DurableRun) => (options.contextOf(run, undefined) ?? undefined) !== undefined
    this.#owned = new OwnedRuns({ ...options, data: this.#data, mayGoOn, onRoom: () => this.wake() })
  }

  /** Called before a run of a chat ends or waits again. */
  set onChat(onChat: OnChat) {
    this.#owned.onChat = onChat
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
    if (!detached) this.#owned.refuseLeft(tenant)
    const created = await this.#data.create(request, options)
    if (created === undefined) {
      throw new StartedBefore(`The run '${request.context?.runId}' was started before`)
    }
    if (!detached) return this.#owned.drive(created, request, []).read()
    if (this.#owned.hasRoom(created.tenant)) this.#owned.drive(created, request, [], true)
    else await this.#owned.release(created)
    return noEvents()
  }

  /** Starts a durable run and gives its events; none if the client does not wait for them. */
  async *run(request: RunRequest, options: DurableOptions = {}, detached = false): Events {
    yield* await this.start(request, options, detached)
  }

  /** Continues a run that is due. Gives the stored answer of one that waits or has ended. */
  async resume(run: DurableRun, given: Pick<RunRequest, 'model' | 'prices' | 'context'>): Promise<Events> {
    const { store, clock } = this.#options
    const { model: _model, session: _session, chain: _chain, chat: _chat, ...request } = this.#data.requestOf(run)
    const taken = await store.take(run.id, clock.wall())
    if (taken === undefined) {
      const { status, answer } = (await store.get(run.tenant, run.id)) ?? run
      if (status !== 'running' && answer !== null) return answered(this.answerOf({ ...run, answer }) as RunAnswer)
      throw new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        `The run '${run.id}' is running, or was cancelled: it is ${status}`,
      )
    }
    try {
      const steps = await this.#data.stepsOf(run)
      return this.#owned.drive(taken, { ...request, ...given }, steps).read()
    } catch (error) {
      await this.#owned.release(taken, true)
      throw error
    }
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

  /** The runs that run or wait, newest first, as they are listed. */
  async open(filter: OpenRunFilter): Promise<readonly OpenRun[]> {
    const runs = await this.#options.store.open(filter)
    const listed = runs.map(async (run) => {
      const { steps: _steps, ...record } = await this.#data.record(run)
      return { ...record, status: run.status }
    })
    return Promise.all(listed)
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
    if (cancelled) this.#owned.lose(run.id)
    return cancelled
  }

  /**
   * Ends the runs of callers whose keys have ended. Those that wait fail when they would go on. Runs of callers whose rights
   * have become fewer continue with those.
   */
  async endCallers(ids: ReadonlySet<string>, isNarrowed = false): Promise<void> {
    if (!isNarrowed) return this.#owned.endCallers(ids, KEY_ENDED)
    await this.#owned.narrowCallers(ids)
    this.wake()
  }

  /** Leaves the runs to other servers, or to the next start. */
  async close(): Promise<void> {
    this.#closing = true
    this.#stopPolling()
    await this.#polling
    await this.#owned.close()
  }

  /** Waits until it makes sense to look at the run again. */
  async #news(id: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const wait = pause(this.#owned.has(id) ? FOLLOW_HERE_MS : FOLLOW_ELSEWHERE_MS, clock, signal)
    await Promise.race([wait, this.#owned.ended(id) ?? wait]).catch(() => {})
  }

  async #poll(): Promise<void> {
    const { store, clock, log } = this.#options
    try {
      await this.#owned.loseTaken()
      for (const { id, tenant } of await store.due(clock.wall(), MAX_DETACHED + this.#foreign.size)) {
        const isOurs = !this.#owned.has(id) && !this.#foreign.has(id)
        if (isOurs && this.#owned.hasRoom(tenant)) await this.#resume(id)
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
      this.#owned.drive(run, request, steps, true)
    } catch (err) {
      writeLog(log, 'error', { err, run_id: id }, 'A run cannot be continued')
      if (err instanceof HopelessRun || err instanceof UnknownModelError) return this.#data.fail(run, err.message)
      // Another server may have the encryption key, or this one after a restart.
      const isForeign = err instanceof ToolExecutionError && err.code === 'SERVICE_UNAVAILABLE'
      if (isForeign) this.#foreign.add(id)
      await this.#owned.release(run, isForeign)
    }
  }

  /** Reads the request and the steps of a run, with the current rights of its caller. */
  async #restore(run: DurableRun): Promise<{ request: RunRequest; steps: JournalStep[] }> {
    const { models, contextOf, clock } = this.#options
    const { id, resumes } = run
    if (resumes > MAX_RESUMES) throw new HopelessRun(`The run was resumed ${MAX_RESUMES} times without progress`)
    const { model: name, session, chain, chat: _chat, ...request } = this.#data.requestOf(run)
    const context = contextOf(run, session)
    if (context === undefined) throw new HopelessRun(KEY_ENDED)
    if (context === null) {
      throw new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        `There is no caller '${run.caller}': the program that started the run continues it`,
      )
    }
    const catalogue = await models()
    const model = catalogue.get(name, context.models)
    const { prices } = catalogue.info(name)
    const steps = await this.#data.stepsOf(run)
    const parent = chain && chainedCall(chain, clock.now())
    return { request: { ...request, model, prices, context: { ...context, runId: id, parent } }, steps }
  }
}

async function* answered(answer: RunAnswer): Events {
  yield { type: 'answer', answer, messages: [] }
}

async function* noEvents(): Events {}
