import type { HashedTool, Params } from '../tool.ts'

/** Why a call waits: for an approval, for input, or for a connected account. */
type PauseKind = 'approval' | 'input' | 'connect'
export type Decision = 'approve' | 'reject'
export type PauseStatus = 'pending' | 'approved' | 'rejected' | 'expired'

/** The call that a pause belongs to. Identical calls of one caller have the same identity. */
export interface PausedCall {
  readonly kind: PauseKind
  readonly tenant: string
  /** The id of the key that asked; empty if the caller has none. */
  readonly caller: string
  readonly tool: string
  readonly version: string
  /** The hash of the parameters asked for. */
  readonly params_hash: string
  /** The hash of the outermost call of a tool that calls others, if one made this call, and what separates callers. */
  readonly root_hash: string | null
  /** The definitions that a person sees: of the tool, and of that of the outermost call. Null: not known, or a question. */
  readonly definitions: string | null
}

/** Times are milliseconds since 1970. */
export interface PauseRequest extends PausedCall {
  readonly id: string
  /** The user who asked, signed in or named by a key that acts for users; null if the caller has none. */
  readonly subject: string | null
  readonly params: Params
  readonly run_id: string | null
  readonly call_id: string | null
  /** The key of that outermost call: the call that continues has it, too. */
  readonly root_key: string | null
  readonly requested_at: number
  /** It can be decided until then. After the decision: the approved call can run until then. */
  readonly expires_at: number
}

export interface PauseDecision {
  readonly decision: Decision
  /** The parameters to run with, if they were changed. */
  readonly decided_params: Params | null
  /** The id and the name of the key or user. */
  readonly decided_by: string
  readonly decided_by_name: string
  readonly decided_at: number
  readonly reason: string | null
  readonly expires_at: number
}

/** A call that waits for a person. */
export interface Pause extends PauseRequest, Omit<PauseDecision, 'decision' | `decided_by${string}` | 'decided_at'> {
  readonly decision: Decision | null
  readonly decided_by: string | null
  readonly decided_by_name: string | null
  readonly decided_at: number | null
  /** When the approved call first began to run. */
  readonly begun_at: number | null
}

export interface PauseFilter {
  /** Undefined: all tenants. */
  readonly tenant: string | undefined
  readonly status?: PauseStatus | undefined
  readonly now: number
  readonly limit: number
  readonly cursor?: string | undefined
}

export interface PausePage {
  readonly pauses: readonly Pause[]
  /** The cursor of the next page; absent on the last. */
  readonly next?: string
}

/** What a call has done that continues after an approval. */
export interface StoredProgress {
  readonly root_key: string
  readonly root_hash: string
  readonly progress: string
}

export interface PauseStore {
  /**
   * Stores a request, or returns the open one of an identical call. Rejects with RATE_LIMITED if the caller already has
   * `maxPending`.
   */
  ask(request: PauseRequest, maxPending: number): Promise<{ readonly pause: Pause; readonly isNew: boolean }>
  /** The pause of an identical call that is pending, or approved and not begun. */
  open(call: PausedCall, now: number): Promise<Pause | undefined>
  get(tenant: string, id: string): Promise<Pause | undefined>
  /** The tenant of a pause, to record that another one asked for it. */
  tenantOf(id: string): Promise<string | undefined>
  /** Newest first. */
  list(filter: PauseFilter): Promise<PausePage>
  /** The number of pending pauses of a tenant, or of all. */
  countPending(tenant: string | undefined, now: number): Promise<number>
  /** Returns false if it was decided before, has expired or does not exist. */
  decide(tenant: string, id: string, decision: PauseDecision): Promise<boolean>
  /** Stores what the outermost call of a tool that calls others has done, with its newest pause. */
  saveProgress(tenant: string, caller: string, root_key: string, progress: string): Promise<void>
  /** The last progress of a caller's call, by its key. */
  progress(tenant: string, caller: string, root_key: string): Promise<StoredProgress | undefined>
  /** That of a call that can continue, by its hash: one of its pauses is pending, or approved and not begun. */
  openProgress(tenant: string, caller: string, root_hash: string, now: number): Promise<StoredProgress | undefined>
  /** Marks an approved call as begun. Returns false if it was before. */
  begin(tenant: string, id: string, now: number): Promise<boolean>
}

export function pauseStatus({ decision, expires_at }: Pause, now: number): PauseStatus {
  if (decision !== null) return decision === 'approve' ? 'approved' : 'rejected'
  return expires_at > now ? 'pending' : 'expired'
}

/** What `definitions` stores. */
export const hashedText = (tools: readonly HashedTool[]): string => JSON.stringify(tools)

/** Undefined if the text can't be read: then nothing is known about the definitions. */
export function readHashed(text: string | null): readonly HashedTool[] | undefined {
  return text === null ? undefined : JSON.parse(text)
}
