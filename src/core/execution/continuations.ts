import { hash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { NewRoot, Progress } from '../progress.ts'
import type { Pause, StoredProgress } from '../storage/pause-store.ts'
import type { HashedTool, Params, ToolDefinition } from '../tool.ts'
import { ToolExecutionError } from '../tool-result.ts'
import { type ApprovalParts, changedSince, mayRepeat, scopeOf, unavailable } from './approvals.ts'
import type { Call } from './call.ts'
import { callKey } from './result-cache.ts'

/** What one call may store until it continues. */
const MAX_CHARACTERS = 1024 * 1024

/** The definitions of tools, as they are now. */
export interface Definitions {
  hashOf(tool: ToolDefinition): Promise<HashedTool>
  /** The first tool, as `name@version`, whose definition is not the one that was approved. */
  changed(pause: Pick<Pause, 'tool' | 'definitions'>): Promise<string | undefined>
}

/** Stores what tools that call others have done when one of their calls needs approval, and finds it when they continue. */
export class Continuations {
  readonly #parts: ApprovalParts
  readonly #clock: Clock
  readonly #definitions: Definitions

  constructor(parts: ApprovalParts, clock: Clock, definitions: Definitions) {
    this.#parts = parts
    this.#clock = clock
    this.#definitions = definitions
  }

  /** What the call has done. */
  async progressOf(call: Call, tool: ToolDefinition, params: Params): Promise<Progress> {
    const { parent, callId, idempotencyKey: key } = call.context
    if (parent?.progress !== undefined) return parent.progress.inner(parent.step ?? callId)
    const hashOf = () => hash('sha256', callKey(call.tool, call.userScope, params))
    const found = await this.#find(call, hashOf)
    const hashed = () => this.#definitions.hashOf(tool)
    if (found === undefined) {
      const keyOf = () => key ?? (call.approval && ownKey(call.approval.id))
      const rootHash = (own: string) => hashOf() + scopeOf(call, own)
      return new Progress(new NewRoot(mayRepeat(call), keyOf, rootHash, hashed))
    }
    const { root_key, root_hash, progress } = found
    const root = { key: root_key, hash: root_hash, resumed: true, repeats: mayRepeat(call), asked: false, hashed }
    return Progress.parse(this.#parts.seal?.open(progress, root_key) ?? progress, root)
  }

  /** Stores what the outermost call has done if it ends because a call inside waits. Returns the error for its caller. */
  async hold({ tenant, caller = '', progress, context }: Call, thrown: unknown): Promise<unknown> {
    const isOutermost = progress?.root.asked === true && context.parent?.progress === undefined
    if (!isOutermost || !(thrown instanceof ToolExecutionError) || thrown.code !== 'APPROVAL_REQUIRED') return thrown
    const { pauses, seal } = this.#parts
    const { key } = progress.root
    const text = JSON.stringify(progress)
    if (text.length > MAX_CHARACTERS) {
      const message = `The call can't wait for approval: its results so far have ${text.length} characters, and at most ${MAX_CHARACTERS} can be stored. Ask for less before the call that needs approval`
      return new ToolExecutionError('RESULT_TOO_LARGE', message)
    }
    try {
      await pauses.saveProgress(tenant, caller, key, seal?.seal(text, key) ?? text)
      return thrown
    } catch (cause) {
      const message = "The call can't wait for approval: the store for approvals is unavailable"
      return new ToolExecutionError('EXECUTION_ERROR', message, {}, { cause })
    }
  }

  /** Before anything runs: continuing ends with a call that can't be made. What began has an answer. */
  async #refuseChanged(pause: Pause, now: number): Promise<void> {
    if (pause.decision === 'reject' || pause.begun_at !== null || pause.expires_at <= now) return
    const changed = await this.#definitions.changed(pause)
    if (changed !== undefined) throw changedSince(changed, pause)
  }

  /** By the approval that the call names, by its idempotency key, or by its parameters if its caller can only repeat it. */
  async #find(call: Call, hashOf: () => string): Promise<StoredProgress | undefined> {
    const { pauses } = this.#parts
    const { tenant, caller = '', context } = call
    const { approvalId: id, idempotencyKey: key, callId, parent } = context
    const now = this.#clock.wall()
    if (id !== undefined) {
      const pause = await pauses.get(tenant, id).catch(unavailable)
      const own = pause?.kind === 'approval' && pause.caller === caller ? pause : undefined
      const rootKey = own && (own.root_key ?? ownKey(own.id))
      const known = rootKey && (await pauses.progress(tenant, caller, rootKey).catch(unavailable))
      const problem = problemOf(call, { id, own, known, hash: hashOf(), now })
      if (problem === undefined) {
        await this.#refuseChanged(own as Pause, now)
        return known || undefined
      }
      // A tool in code hands the approval to all tools that it calls.
      if (parent === undefined) throw new ToolExecutionError('INVALID_PARAMETERS', problem)
    }
    const known = key === undefined ? undefined : await pauses.progress(tenant, caller, key).catch(unavailable)
    if (known !== undefined && isOfCall(known.root_hash, hashOf())) return known
    if (!mayRepeat(call) || callId !== undefined) return undefined
    return pauses.openProgress(tenant, caller, hashOf() + scopeOf(call, ''), now).catch(unavailable)
  }
}

interface Named {
  readonly id: string
  /** The approval, if it belongs to this caller. */
  readonly own: Pause | undefined
  readonly known: StoredProgress | '' | undefined
  readonly hash: string
  readonly now: number
}

/** Why the call can't continue with the approval that it names. From its start it would do everything again. */
function problemOf({ tool, context }: Call, { id, own, known, hash, now }: Named): string | undefined {
  const again = 'leave approval_id out to start again'
  if (own === undefined) return `Approval '${id}' not found: ${again}`
  const isOwn = own.root_key === null && own.tool === tool
  if (!isOwn && !isOfCall(own.root_hash, hash)) return `The approval '${id}' is for another call: ${again}`
  // A run is told by the call inside.
  if (context.callId === undefined && own.expires_at <= now) return `The approval '${id}' has expired: ${again}`
  if (!isOwn && !known) return `The call that asked for the approval '${id}' has failed since: ${again}`
  return undefined
}

/** Whether a stored hash, which may have a scope, is that of a call. */
const isOfCall = (stored: string | null, hash: string): boolean => stored?.split(' ', 1)[0] === hash

/** The key of a call that needs approval itself. */
const ownKey = (approval: string): string => `approval ${approval}`
