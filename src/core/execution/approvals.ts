import { hash, randomUUID } from 'node:crypto'
import { nearest, numberProblem } from '../check-options.ts'
import type { Clock } from '../clock.ts'
import { asToolError } from '../failure.ts'
import { canonicalText } from '../json/canonical-text.ts'
import type { Progress } from '../progress.ts'
import { shortened } from '../schema/problem-words.ts'
import { type CompiledSchema, compile, compiler } from '../schema/schema-compiler.ts'
import { type ParamsSnapshot, snapshotParams, UNUSUAL_NAMES } from '../snapshot.ts'
import {
  hashedText,
  type Pause,
  type PausedCall,
  type PauseStore,
  pauseStatus,
  readHashed,
} from '../storage/pause-store.ts'
import type { ApprovalRule, Effect, HashedTool, Params, ToolDefinition } from '../tool.ts'
import { ToolExecutionError } from '../tool-result.ts'
import { type Call, waitingPlace } from './call.ts'
import type { CallHook, MaybePromise, Stages } from './stages.ts'
import { versionOf } from './tool-view.ts'

const HOUR_MS = 3_600_000
const EXPIRES_MS = 24 * HOUR_MS
/** Longer than a timer or a person remembers, shorter than the times that a date can hold. */
const MAX_EXPIRES_MS = 365 * EXPIRES_MS
const MAX_PENDING = 100
/** A person reads the parameters, and lists contain those of many calls. */
const MAX_PARAMS_CHARACTERS = 16_384
/** An approved call can run for this long: its result is stored for as long, so that it never runs twice. */
export const USABLE_MS = EXPIRES_MS
/** A call that takes more steps to compare with `when` needs approval. */
const MAX_STEPS = 2_000_000

/** The approval rule of a tool, compiled. */
export interface BoundApproval {
  readonly expiresMs: number
  needs(snapshot: ParamsSnapshot): boolean
}

interface GuardedTool {
  readonly name: string
  readonly definition: ToolDefinition
  readonly approval: BoundApproval | undefined
  readonly effect: Effect
  readonly callsOthers: boolean
}

const KEYS: ReadonlySet<string> = new Set<keyof ApprovalRule>(['when', 'by', 'self', 'expires_ms'])

/** Throws if the rule is invalid: the call might run without approval. */
export function bindApproval({ name, approval }: ToolDefinition): BoundApproval | undefined {
  if (approval === undefined || approval === false) return undefined
  const rule: ApprovalRule = approval === true ? {} : approval
  const problem = ruleProblem(rule)
  if (problem !== undefined) {
    throw new ToolExecutionError('EXECUTION_ERROR', `Tool '${name}' has an invalid approval: ${problem}`)
  }
  const { when, expires_ms: expiresMs = EXPIRES_MS } = rule
  let schema: CompiledSchema | undefined
  return {
    expiresMs,
    needs(snapshot) {
      if (when === undefined) return true
      schema ??= compile(when)
      return mayMatch(schema, snapshot)
    },
  }
}

function ruleProblem(rule: ApprovalRule): string | undefined {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) return 'it must be true or an object'
  const unknown = Object.keys(rule).find((key) => !KEYS.has(key))
  if (unknown !== undefined) return `unknown key '${unknown}'. ${nearest(unknown, [...KEYS])}`
  const { when, by, self, expires_ms: ms } = rule
  const roles = Array.isArray(by) && by.length > 0 && by.every((role) => typeof role === 'string' && role !== '')
  if (by !== undefined && !roles) return 'by must be a list of roles'
  if (self !== undefined && typeof self !== 'boolean') return 'self must be true or false'
  const wrong = ms === undefined ? undefined : numberProblem(ms, { integer: true, min: 1_000, max: MAX_EXPIRES_MS })
  if (wrong !== undefined) return `expires_ms ${wrong}`
  if (when === undefined) return undefined
  if (typeof when !== 'object' || when === null || Array.isArray(when)) return 'when must be a JSON Schema object'
  // Without the compiler, the first call reports it: a schema that can't be compiled approves nothing.
  if (compiler() === undefined) return undefined
  try {
    return compile(when).check === undefined ? 'when is too complex: use fewer nested conditions' : undefined
  } catch (error) {
    return `when is not a valid schema: ${asToolError(error, '').message}`
  }
}

/** Parameters that are too large to compare match. */
function mayMatch({ check, cost, textCost }: CompiledSchema, { params, nodes, characters }: ParamsSnapshot): boolean {
  if (check === undefined || cost * nodes + textCost * characters > MAX_STEPS) return true
  return check(params)
}

/** Mocks change nothing, and a tool that calls others here asks for its calls. */
function asksFirst({ context }: Call, { effect, callsOthers, definition }: GuardedTool): boolean {
  if (context.asksWrites !== true || effect !== 'write') return false
  const { type, url } = definition.implementation ?? {}
  return callsOthers ? type === 'agent' && url !== undefined : type !== 'mock'
}

const MAX_ID_LENGTH = 255

/** Throws if the call names an approval that can't be looked for. */
export function refuseOddId({ context: { approvalId: id } }: Call, canAsk: boolean): void {
  if (id === undefined) return
  if (!canAsk) {
    const message = `There is no approval '${shortened(id)}': there is no store for approvals. Leave approval_id out`
    throw new ToolExecutionError('INVALID_PARAMETERS', message)
  }
  if (id.length <= MAX_ID_LENGTH && !/[^\x20-\x7e]/.test(id)) return
  const message = `approval_id must be at most ${MAX_ID_LENGTH} printable ASCII characters: name the approval that the call got`
  throw new ToolExecutionError('INVALID_PARAMETERS', message)
}

/** The handler gets the refined parameters, so they count as well. If they can't be compared, the call needs approval. */
function needsApproval(call: Call, tool: GuardedTool, snapshot: ParamsSnapshot): boolean {
  const { approval } = tool
  if (asksFirst(call, tool)) return true
  if (approval === undefined) return false
  const { refined } = call
  if (approval.needs(snapshot)) return true
  if (refined === undefined) return false
  try {
    return approval.needs(snapshotParams(refined.value, UNUSUAL_NAMES))
  } catch {
    return true
  }
}

/** Why calls that need approval can't be made. */
export function approvalFault(tool: ToolDefinition, canAsk: boolean): string | undefined {
  try {
    if (bindApproval(tool) === undefined || canAsk) return undefined
    return 'It needs approval, and there is no store for approvals: serve the tool, or pass `storage`'
  } catch (error) {
    return asToolError(error, tool.name).message
  }
}

export interface ApprovalParts {
  readonly pauses: PauseStore
  /** Called when a new approval is pending. Must not throw. */
  readonly onAsk?: (pause: Pause) => void
  /** Encrypts what calls that wait have done. */
  readonly seal?: { seal(text: string, place: string): string; open(text: string, place: string): string }
}

/** What approvals need of the executor. */
interface ApprovalHost {
  readonly clock: Clock
  hashOf(tool: ToolDefinition): Promise<HashedTool>
  /** Reads and validates parameters. Throws if they are invalid. */
  check(call: Call, params: Params): MaybePromise<void>
}

/** Asks for the approval of calls, and finds decided ones. */
export class Approvals implements CallHook<GuardedTool> {
  readonly #parts: ApprovalParts | undefined
  readonly #host: ApprovalHost
  readonly #clock: Clock

  constructor(parts: ApprovalParts | undefined, host: ApprovalHost) {
    this.#parts = parts
    this.#host = host
    this.#clock = host.clock
  }

  readonly stages = (tool: GuardedTool): Stages => {
    if (this.#parts === undefined)
      return tool.approval === undefined && tool.effect !== 'write' ? {} : this.#withoutStore(tool)
    // A call may name an approval whose rule is gone.
    return {
      'approval.find': (call) => {
        // The approval of a call that a tool makes is for that call.
        const isNamed = call.context.approvalId !== undefined && !tool.callsOthers
        const mayWait = isNamed || tool.approval !== undefined || asksFirst(call, tool)
        const guard = () => (mayWait ? this.#guard(call, tool) : undefined)
        const { root } = call.context.parent?.progress ?? {}
        return root?.approved === undefined ? guard() : refuseChangedRoot(root).then(guard)
      },
      'approval.pass': (call) => (call.guard === undefined ? undefined : this.#pass(call, tool)),
    }
  }

  #withoutStore(tool: GuardedTool): Stages {
    return {
      'approval.find': (call) => {
        if (needsApproval(call, tool, call.snapshot as ParamsSnapshot)) this.#store(tool)
        return undefined
      },
    }
  }

  async #guard(call: Call, tool: GuardedTool): Promise<undefined> {
    const { snapshot } = call
    if (snapshot === undefined || !(await this.#find(call, tool, snapshot))) return
    const { approval } = call
    const isIt = approval !== undefined && isSame(approval, callOf(call, tool, snapshot.params))
    call.guard = {
      // Asking for the approval has counted against the limits of the call that runs now.
      isCounted: isIt && this.#isUsable(call, approval),
      // It has an answer already, whatever has become of the tool since.
      hasBegun: isIt && approval.begun_at !== null,
    }
  }

  #isUsable({ definitions }: Call, { decision, begun_at, definitions: asked, expires_at }: Pause): boolean {
    return decision === 'approve' && begun_at === null && asked === definitions && expires_at > this.#clock.wall()
  }

  /**
   * Whether the call needs approval. Finds the approval that it names, even if the rule no longer demands one: a rejected call
   * must not run, nor an approved one twice. MCP clients, frameworks and tools can't name one: they repeat the call.
   */
  async #find(call: Call, tool: GuardedTool, snapshot: ParamsSnapshot): Promise<boolean> {
    const needed = needsApproval(call, tool, snapshot)
    const { callId } = call.context
    const { progress } = call
    // A call that continues names an approval of a call inside.
    const approvalId = progress?.root.resumed === true ? progress.approval : call.context.approvalId
    const isNamed = approvalId !== undefined && (needed || this.#parts !== undefined)
    if (!isNamed && !(needed && mayRepeat(call) && callId === undefined)) return needed
    const { pauses } = this.#store(tool)
    const now = this.#clock.wall()
    const asked = callOf(call, tool, snapshot.params)
    const named = approvalId === undefined ? undefined : await pauses.get(call.tenant, approvalId).catch(unavailable)
    // A tool that calls others hands the approval to all of them.
    const isForAnother = named === undefined || (call.context.parent !== undefined && !isSame(named, asked))
    const repeats = needed && mayRepeat(call) && callId === undefined
    const find = async () => pauses.open(await this.#callOf(call, tool, snapshot.params), now).catch(unavailable)
    const pause = isForAnother && repeats ? await find() : named
    // An approval of another caller does not exist for this one.
    const isOwn =
      pause?.kind === asked.kind &&
      pause.caller === asked.caller &&
      (call.context.parent === undefined || isSame(pause, asked))
    const { run_id, call_id } = placeOf(call)
    // A direct call whose approval has expired would ask again.
    const isOver = !needed && run_id === null && pause !== undefined && pause.expires_at <= now
    if (isOwn && pause.run_id === run_id && pause.call_id === call_id && !isOver) call.approval = pause
    // A call that began has an answer, whatever the definition is now.
    if (call.approval?.begun_at === null) await this.#callOf(call, tool, snapshot.params)
    // One of this caller may have expired, or is refused later: it is for another call.
    const isUnknown = isNamed && named?.caller !== asked.caller
    if (isUnknown && !needed && call.context.parent === undefined) {
      const message = `There is no approval '${shortened(approvalId)}': leave approval_id out`
      throw new ToolExecutionError('INVALID_PARAMETERS', message)
    }
    return needed || call.approval !== undefined
  }

  /** Throws unless the call was approved. */
  async #pass(call: Call, tool: GuardedTool): Promise<undefined> {
    const changed = await this.#begin(call, tool, (call.snapshot as ParamsSnapshot).params)
    if (changed === undefined) return
    // The schema may have changed since the decision.
    await this.#host.check(call, changed)
    call.warn(`A person changed the parameters of tool '${tool.name}' when they approved the call`)
  }

  /** Returns the parameters to run with, if they were changed. */
  async #begin(call: Call, tool: GuardedTool, params: Params): Promise<Params | undefined> {
    const { pauses } = this.#store(tool)
    const now = this.#clock.wall()
    const asked = call.approval === undefined ? await this.#ask(call, tool, params) : undefined
    // A direct call must name its approval. A call of a run has its own.
    if (asked?.run_id === null) throw required(call, tool, asked)
    const approval = call.approval as Pause
    const same = await this.#callOf(call, tool, params)
    // A call inside another was approved as a part of it.
    const isInside = call.context.parent === undefined && approval.root_key !== null
    if (isInside || !isSame(approval, same)) {
      // With another version or another default, the same call has other parameters.
      const isBefore = !isInside && approval.tool === same.tool && approval.begun_at === null
      if (isBefore) refuseChanged(approval, same)
      const message = `The approval '${approval.id}' is for another call: leave approval_id out to ask for this one`
      throw new ToolExecutionError('INVALID_PARAMETERS', message)
    }
    const status = pauseStatus(approval, now)
    if (status === 'rejected') {
      const reason = approval.reason === null ? '' : `: ${approval.reason}`
      throw new ToolExecutionError('PERMISSION_DENIED', `The call of tool '${tool.name}' was rejected${reason}`)
    }
    // An approval that has expired is asked for again anyway.
    if (approval.expires_at > now) refuseChanged(approval, same)
    if (status === 'pending') throw required(call, tool, approval)
    // A run asks once.
    if (approval.expires_at <= now && approval.run_id !== null) {
      throw new ToolExecutionError('PERMISSION_DENIED', `The approval of the call of tool '${tool.name}' has expired`)
    }
    if (approval.expires_at <= now) throw required(call, tool, await this.#ask(call, tool, params))
    await pauses.begin(call.tenant, approval.id, now).catch(unavailable)
    const { root } = call.progress ?? call.context.parent?.progress ?? {}
    if (root !== undefined) root.approved = approvedRoot(approval)
    if (call.progress !== undefined) call.progress.approval = approval.id
    return approval.decided_params ?? undefined
  }

  async #ask(call: Call, tool: GuardedTool, params: Params): Promise<Pause> {
    const { pauses, onAsk } = this.#store(tool)
    if (call.context.stores === false) {
      const message = `Tool '${tool.name}' needs approval, and a request with "store": false can't wait: leave store out`
      throw new ToolExecutionError('PERMISSION_DENIED', message)
    }
    refuseLong(params)
    const now = this.#clock.wall()
    const { root } = call.context.parent?.progress ?? {}
    if (root !== undefined) root.asked = true
    const request = {
      ...(await this.#callOf(call, tool, params)),
      id: randomUUID(),
      subject: call.context.user ?? null,
      params,
      ...placeOf(call),
      root_key: root?.key ?? null,
      requested_at: now,
      expires_at: now + (tool.approval?.expiresMs ?? EXPIRES_MS),
    }
    const { pause, isNew } = await pauses.ask(request, MAX_PENDING).catch(unavailable)
    call.approval = pause
    if (isNew) onAsk?.(pause)
    return pause
  }

  /** With the definitions of the tool, and of that of the outermost call, as they are now. */
  async #callOf(call: Call, tool: GuardedTool, params: Params): Promise<PausedCall> {
    if (call.definitions === undefined) {
      const root = await call.context.parent?.progress?.root.hashed()
      call.definitions = hashedText([await this.#host.hashOf(tool.definition), ...(root === undefined ? [] : [root])])
    }
    return callOf(call, tool, params)
  }

  #store({ name }: GuardedTool): ApprovalParts {
    if (this.#parts !== undefined) return this.#parts
    throw new ToolExecutionError(
      'EXECUTION_ERROR',
      `Tool '${name}' needs approval, and there is no store for approvals`,
    )
  }
}

/** Throws if the parameters are too long for a person to approve. */
export function refuseLong(params: Params): void {
  const { length } = JSON.stringify(params)
  if (length <= MAX_PARAMS_CHARACTERS) return
  const message = `The parameters of a call that needs approval may have ${MAX_PARAMS_CHARACTERS} characters, not ${length}`
  throw new ToolExecutionError('INVALID_PARAMETERS', message)
}

function callOf(call: Call, tool: GuardedTool, params: Params): PausedCall {
  const { tenant, caller = '', context } = call
  const { user } = context
  // A key may act for several users: an approval is for one of them.
  const params_hash = hash('sha256', canonicalText(user === undefined ? params : [user, params]))
  const root_hash = call.context.parent?.progress?.root.hash ?? (scopeOf(call, randomUUID()) || null)
  return {
    kind: 'approval',
    tenant,
    caller,
    tool: tool.name,
    version: versionOf(tool.definition),
    params_hash,
    root_hash,
    definitions: call.definitions ?? null,
  }
}

/** Throws if a definition is not the one that was asked about. */
function refuseChanged(pause: Pause, now: PausedCall): void {
  const { tool, definitions } = pause
  if (definitions !== null && definitions === now.definitions) return
  const before = readHashed(definitions) ?? []
  const [changed] = (readHashed(now.definitions) ?? []).find(([, hash], at) => before[at]?.[1] !== hash) ?? [tool]
  throw changedSince(changed, pause)
}

/** The outermost tool stands last. */
export const approvedRoot = (approval: Pause): Progress['root']['approved'] => ({
  approval,
  hash: readHashed(approval.definitions)?.at(-1)?.[1] ?? '',
})

/** Throws if a tool that an approved call may call has changed while it runs. */
async function refuseChangedRoot({ hashed, approved }: Progress['root']): Promise<void> {
  const [name, hash] = await hashed()
  if (approved !== undefined && approved.hash !== hash) throw changedSince(name, approved.approval)
}

export function changedSince(changed: string, { id, run_id }: Pick<Pause, 'id' | 'run_id'>): ToolExecutionError {
  const how = run_id === null ? 'leave approval_id out' : 'repeat the call'
  const message = `${changedText(changed)} (approval '${id}'). The call did not run: ${how} to ask again`
  return new ToolExecutionError('PERMISSION_DENIED', message)
}

/** `tool`: as `name@version`. */
export const changedText = (tool: string): string =>
  `Tool '${tool.replace(/@0\.0\.0$/, '')}', or a tool that it calls, has changed since the approval was asked for`

/** The run and the call that wait. A direct call is repeated by its caller. */
function placeOf({ context }: Call): Pick<Pause, 'run_id' | 'call_id'> {
  const { runId = null, callId = null } = waitingPlace(context) ?? {}
  return { run_id: runId, call_id: callId }
}

const isSame = (one: PausedCall, other: PausedCall): boolean =>
  one.tool === other.tool && one.version === other.version && one.params_hash === other.params_hash

/**
 * MCP clients, frameworks and tools repeat a call that waits, because they can't name an approval. If nothing says who calls,
 * only the same run or outermost call does.
 */
export function mayRepeat({ context, isStated }: Call): boolean {
  const { source, repeats, runId, parent } = context
  if (source !== 'mcp' && repeats !== true) return false
  return isStated || runId !== undefined || parent?.progress !== undefined
}

/** What separates the approvals of callers that nothing tells apart: a run, or else this key. No hash contains a space. */
export const scopeOf = ({ isStated, context: { runId } }: Call, key: string): string =>
  isStated ? '' : ` ${runId === undefined ? key : hash('sha256', runId)}`

function required(call: Call, tool: GuardedTool, { id, expires_at, decision }: Pause): ToolExecutionError {
  const approval = { id, expires_at: new Date(expires_at).toISOString() }
  const when = decision === null ? 'when it is approved' : 'now: it is approved'
  const { repeats } = call.context
  const { root } = call.context.parent?.progress ?? {}
  const how = (root?.repeats ?? repeats) === true ? `(approval '${id}')` : `with approval_id '${id}'`
  const again =
    root === undefined && repeats === true && !mayRepeat(call)
      ? `Call it with approval_id '${id}' ${when}, or pass the user of the call, so that it can be repeated`
      : `Repeat the call ${how} ${when}`
  const message = `Tool '${tool.name}' runs only with approval. ${again}`
  return new ToolExecutionError('APPROVAL_REQUIRED', message, { details: { approval } })
}

/** Nothing runs while the store fails. */
export function unavailable(cause: unknown): never {
  if (cause instanceof ToolExecutionError && cause.code === 'RATE_LIMITED') throw cause
  const message = 'The store for approvals is unavailable. The call did not run: try again later'
  throw new ToolExecutionError('SERVICE_UNAVAILABLE', message, {}, { cause })
}
