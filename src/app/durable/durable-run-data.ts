import { hash } from 'node:crypto'
import type { JournalStep } from '../../chat/journal.ts'
import type { PendingApproval, RunAnswer, RunRequest } from '../../chat/run.ts'
import { endedRecord, StepView } from '../../chat/run-record.ts'
import type { ParentCall } from '../../core/call-context.ts'
import type { Clock } from '../../core/clock.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type {
  DurableEnd,
  DurableRun,
  DurableRunStore,
  DurableStep,
  NewDurableRun,
} from '../../core/storage/durable-run-store.ts'
import type { PauseStore } from '../../core/storage/pause-store.ts'
import type { Quota } from '../../core/storage/quota.ts'
import type { RunStep, StoredRun } from '../../core/storage/run-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { TextSeal } from './sealed-text.ts'

export interface DurableOptions {
  /** The question of a stored chat that the run answers. */
  readonly chat?: ChatQuestion
  /** A hash of the request, if an idempotency key started the run. */
  readonly fingerprint?: string
}

export interface ChatQuestion {
  readonly chat: string
  readonly messageId: string
}

/** The request as it is stored. */
interface StoredRequest extends Omit<RunRequest, 'model' | 'context' | 'journal' | 'prices'> {
  readonly model: string
  readonly session?: string
  readonly chain?: AgentChain
  readonly chat?: ChatQuestion
}

/** The agents of other servers that the run belongs to, and the time that it had left when it began. */
interface AgentChain {
  readonly agents: readonly string[]
  readonly left_ms?: number
}

export interface DurableRunDataOptions {
  readonly store: DurableRunStore
  readonly pauses: PauseStore
  readonly seal: TextSeal
  readonly log: Log
  readonly clock: Clock
  readonly quota: (tenant: string) => Quota
  /** Whether texts, parameters and results are shown. */
  readonly showsContents: () => boolean
  /** Removes the parameters and results of a step that may not be stored. */
  readonly storable?: (step: RunStep) => RunStep
  /** Receives the record of a run that ended while nothing ran. */
  readonly onRun: (run: StoredRun) => void
}

function textOf(request: StoredRequest): string {
  try {
    return JSON.stringify(request)
  } catch (cause) {
    const problem =
      'A durable run is stored as JSON, and its request has a circular value, a BigInt or a toJSON() that throws'
    throw new TypeError(`${problem}. Give it messages of JSON values`, { cause })
  }
}

/** What is stored of durable runs: sealed for their continuation, bounded and redacted for people. */
export class DurableRunData {
  readonly #options: DurableRunDataOptions

  constructor(options: DurableRunDataOptions) {
    this.#options = options
  }

  /** Stores a new run; with an answer, one that waits already. Undefined if there is one with this id. */
  create(
    request: RunRequest,
    { chat, fingerprint = '' }: DurableOptions,
    waiting?: { readonly answer: RunAnswer; readonly steps: readonly JournalStep[] },
  ): Promise<DurableRun | undefined> {
    const { store, quota, seal, clock } = this.#options
    const { model, context = {}, journal: _journal, prices: _prices, output, ...rest } = request
    const { tenant = LOCAL_TENANT, caller = '', runId: id, session, parent } = context
    if (id === undefined) throw new TypeError('A durable run needs context.runId')
    // A run that waits has worked before it was stored.
    const usedMs = waiting?.steps.at(-1)?.used_ms ?? 0
    const chain = parent?.agents && chainOf(parent.agents, parent.deadline - clock.now() + usedMs)
    const place = { ...(session !== undefined && { session }), ...(chain && { chain }), ...(chat && { chat }) }
    // A function can't be stored.
    const stored: StoredRequest = {
      ...rest,
      model: model.id,
      ...place,
      ...(output && { output: { schema: output.schema } }),
    }
    const sealed = seal.seal(textOf(stored), id)
    const created_at = clock.wall() - usedMs
    const run: NewDurableRun = { id, tenant, caller, model: model.id, fingerprint, request: sealed, created_at }
    if (waiting === undefined) return store.create(run, quota(tenant))
    const view = this.view([])
    const steps = waiting.steps.map((step) => this.sealed(id, step, view))
    return store.create(run, quota(tenant), this.#ending(id, waiting.answer, steps))
  }

  /** Nobody is asked any longer for a run that has failed or isn't stored. */
  async expire(tenant: string, id: string): Promise<void> {
    const { store, clock, log } = this.#options
    await store.cancel(tenant, id, clock.wall()).catch((err) => {
      writeLog(log, 'error', { err, run_id: id }, 'The approvals of a run that has ended stay pending')
    })
  }

  /** Stores a run that waits from now on. Its answer is an error if the tenant may not store it. */
  async pause(
    request: RunRequest,
    options: DurableOptions,
    given: RunAnswer,
    steps: readonly JournalStep[],
  ): Promise<RunAnswer> {
    const { runId = '', tenant = LOCAL_TENANT } = request.context ?? {}
    const answer = await this.withApprovals(runId, tenant, given)
    try {
      await this.create(request, options, { answer, steps })
      return answer
    } catch (error) {
      if (!(error instanceof ToolExecutionError)) throw error
      const { approvals: _approvals, status: _status, ...rest } = answer
      return { ...rest, content: error.message, stop_reason: 'error', error: error.message }
    }
  }

  view(before: readonly JournalStep[]): StepView {
    return new StepView(before, this.#options.showsContents(), this.#options.clock.wall())
  }

  sealed(id: string, step: JournalStep, view: StepView): DurableStep {
    const { seal, clock, storable = (shown) => shown } = this.#options
    const shown = JSON.stringify(view.of(step, clock.wall()).map((one) => storable(one)))
    return { kind: step.kind, data: seal.seal(JSON.stringify(step), id), shown }
  }

  requestOf({ id, request }: DurableRun): StoredRequest {
    return JSON.parse(this.#options.seal.open(request, id))
  }

  async stepsOf({ id }: DurableRun): Promise<JournalStep[]> {
    const { store, seal } = this.#options
    return (await store.data(id)).map((data): JournalStep => JSON.parse(seal.open(data, id)))
  }

  /** The answer of a run that waits or has ended. */
  answerOf({ id, answer }: DurableRun): RunAnswer | undefined {
    return answer === null ? undefined : JSON.parse(this.#options.seal.open(answer, id))
  }

  /** The steps for people. */
  async shown({ tenant, id }: DurableRun): Promise<readonly RunStep[]> {
    return (await this.#options.store.shown(tenant, id, 0)).flatMap(({ shown }): RunStep[] => JSON.parse(shown))
  }

  /** Adds when the approvals were asked for, and the validated parameters. */
  async withApprovals(id: string, tenant: string, answer: RunAnswer): Promise<RunAnswer> {
    if (answer.approvals === undefined) return answer
    const stored = answer.approvals.map(async (approval): Promise<PendingApproval> => {
      const pause = await this.#options.pauses.get(tenant, approval.id)
      if (pause === undefined) return approval
      return { ...approval, params: pause.params, requested_at: new Date(pause.requested_at).toISOString() }
    })
    return { ...answer, run_id: id, approvals: await Promise.all(stored) }
  }

  /** Returns false if the run belongs to another server, or has ended. */
  end({ id, fence }: DurableRun, answer: RunAnswer, steps: readonly DurableStep[]): Promise<boolean> {
    return this.#options.store.end(id, fence, this.#ending(id, answer, steps))
  }

  /** Ends a run that can't be continued. */
  async fail(run: DurableRun, error: string): Promise<void> {
    const [service = '', model = ''] = run.model.split(':', 2)
    const answer = { content: '', service, model, tool_calls: [], stop_reason: 'error', error } as const
    if (!(await this.end(run, answer, []))) return
    await this.expire(run.tenant, run.id)
    await this.#record(run, 'error', error)
  }

  /** Returns false if the run has ended. */
  async cancel(run: DurableRun): Promise<boolean> {
    const { store, clock } = this.#options
    const cancelled = await store.cancel(run.tenant, run.id, clock.wall())
    if (cancelled) await this.#record(run, 'cancelled')
    return cancelled
  }

  /** What people see of a run that does not run: it waits, or it has ended. */
  async record(run: DurableRun, reason?: 'cancelled' | 'error', error?: string): Promise<StoredRun> {
    const { clock } = this.#options
    const messages = this.#messagesOf(run)
    const stop_reason = reason ?? (run.status === 'waiting' ? 'approval_required' : run.status)
    const ended = { at: run.ended_at ?? clock.wall(), stop_reason, ...(error !== undefined && { error }) }
    return endedRecord(run, messages, await this.shown(run), ended)
  }

  /** None if contents are not shown, or if the run was encrypted with another key. */
  #messagesOf(run: DurableRun): StoredRequest['messages'] {
    try {
      return this.#options.showsContents() ? this.requestOf(run).messages : []
    } catch {
      return []
    }
  }

  async #record(run: DurableRun, reason: 'cancelled' | 'error', error?: string): Promise<void> {
    const { log, onRun } = this.#options
    try {
      onRun(await this.record(run, reason, error))
    } catch (err) {
      writeLog(log, 'error', { err, run_id: run.id }, 'Could not store a run')
    }
  }

  #ending(id: string, answer: RunAnswer, steps: readonly DurableStep[]): DurableEnd {
    const { seal, clock } = this.#options
    return { status: statusOf(answer), answer: seal.seal(JSON.stringify(answer), id), at: clock.wall(), steps }
  }
}

const chainOf = (agents: readonly string[], leftMs: number): AgentChain => ({
  agents,
  ...(Number.isFinite(leftMs) && { left_ms: Math.round(leftMs) }),
})

/** The call of another server that a run belongs to, so that agents still can't call themselves. */
export const chainedCall = ({ agents, left_ms = Number.POSITIVE_INFINITY }: AgentChain, now: number): ParentCall => ({
  ...{ id: '', path: [], agents, deadline: now + left_ms },
})

function statusOf({ stop_reason }: RunAnswer): DurableEnd['status'] {
  if (stop_reason === 'approval_required') return 'waiting'
  if (stop_reason === 'cancelled') return 'cancelled'
  return stop_reason === 'error' ? 'failed' : 'finished'
}

/** The id of the run that an idempotency key of a caller starts. */
export const keyedRunId = (tenant: string, caller: string, key: string): string =>
  hash('sha256', JSON.stringify(['run', tenant, caller, key])).slice(0, 32)
