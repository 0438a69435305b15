import type { OnceClaim, OnceResult, OnceState } from '../once-store.ts'
import type { Quota } from './quota.ts'

export type DurableStatus = 'running' | 'waiting' | 'finished' | 'failed' | 'cancelled'

/** A step of a durable run. */
export interface DurableStep {
  readonly kind: string
  /** Complete, for the continuation only; sealed if there is an encryption key. */
  readonly data: string
  /** Bounded and redacted, for people: a list of `RunStep` as JSON. */
  readonly shown: string
}

/** A run that survives its process. Times are milliseconds since 1970. */
export interface DurableRun {
  readonly id: string
  readonly tenant: string
  /** The id of the key that started it. */
  readonly caller: string
  readonly model: string
  readonly status: DurableStatus
  /** Grows when a server takes the run: what an earlier one writes is refused. */
  readonly fence: number
  /** How many times it was taken since its last step. */
  readonly resumes: number
  /** A hash of the request: an idempotency key can't start another run. */
  readonly fingerprint: string
  /** The request as JSON, sealed like `data` of a step. */
  readonly request: string
  /** The answer of a run that waits or has ended, sealed like `data` of a step. */
  readonly answer: string | null
  readonly created_at: number
  /** When the last of its pauses was decided or has expired; null if it never waited. */
  readonly woken_at: number | null
  readonly ended_at: number | null
}

export type NewDurableRun = Pick<
  DurableRun,
  'id' | 'tenant' | 'caller' | 'model' | 'fingerprint' | 'request' | 'created_at'
>

/** A new state of a run, with the steps before it. */
export interface DurableEnd {
  readonly status: Exclude<DurableStatus, 'running'>
  readonly answer: string | null
  readonly at: number
  readonly steps?: readonly DurableStep[]
}

export interface OpenRunFilter {
  readonly tenant: string
  readonly model?: string | undefined
  readonly caller?: string | undefined
  readonly limit: number
}

/** A run belongs to the server that started or took it, for as long as that server is alive. */
export interface DurableRunStore {
  /**
   * Stores a run of this server, or one that waits already. Returns undefined if there is one with this id. Rejects with
   * RATE_LIMITED if the tenant would exceed the quota.
   */
  create(run: NewDurableRun, quota?: Quota, end?: DurableEnd): Promise<DurableRun | undefined>
  get(tenant: string, id: string): Promise<DurableRun | undefined>
  /** The tenant of a run, to record that another one asked for it. */
  tenantOf(id: string): Promise<string | undefined>
  /** The runs that run or wait, newest first. */
  open(filter: OpenRunFilter): Promise<readonly DurableRun[]>
  /** The steps after this many, without their data. */
  shown(tenant: string, id: string, after: number): Promise<readonly Pick<DurableStep, 'kind' | 'shown'>[]>
  /** The data of all steps, in order. */
  data(id: string): Promise<readonly string[]>
  /** With the results of the calls. Returns false if the run was taken by another server or has ended. */
  append(
    id: string,
    fence: number,
    steps: readonly DurableStep[],
    at: number,
    results?: readonly OnceResult[],
  ): Promise<boolean>
  /** Claims the keys of calls, with the step that begins them unless it is stored. Undefined where `append` returns false. */
  begin(
    id: string,
    fence: number,
    step: DurableStep | undefined,
    at: number,
    claims: readonly OnceClaim[],
  ): Promise<readonly OnceState[] | undefined>
  /** Ends the run, or lets it wait until all its pauses are decided or have expired. Returns false like `append`. */
  end(id: string, fence: number, end: DurableEnd): Promise<boolean>
  /** Ends a run that runs anywhere or waits. Its pauses expire, even if it was never stored. Returns false if it has ended. */
  cancel(tenant: string, id: string, at: number): Promise<boolean>
  /** Gives the run up, so that any server can take it. `untried`: taking it doesn't count as a resume. */
  release(id: string, fence: number, untried?: boolean): Promise<void>
  /** The runs that this server works on. */
  owned(): Promise<readonly string[]>
  /** Runs that can go on: their server has died, or they need not wait any longer. Tenants take turns, oldest first. */
  due(now: number, limit: number): Promise<readonly Pick<DurableRun, 'id' | 'tenant'>[]>
  /** Takes a run that is due. Undefined if another server was faster. */
  take(id: string, now: number): Promise<DurableRun | undefined>
}
