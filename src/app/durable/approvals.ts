import type { CallContext } from '../../core/call-context.ts'
import { type Clock, within } from '../../core/clock.ts'
import { changedText, refuseLong, USABLE_MS } from '../../core/execution/approvals.ts'
import { matchesGlobs, missingPermission } from '../../core/execution/permit.ts'
import { pinnedName } from '../../core/execution/tool-view.ts'
import { asToolError } from '../../core/failure.ts'
import { sameJson } from '../../core/json/canonical-text.ts'
import { OperationError } from '../../core/operation/operation-error.ts'
import {
  type Decision,
  type Pause,
  type PauseFilter,
  type PauseStatus,
  type PauseStore,
  pauseStatus,
} from '../../core/storage/pause-store.ts'
import type { ApprovalRule, Params, ToolDefinition } from '../../core/tool.ts'
import type { Actor, AuditEvents } from '../callers/audit-events.ts'
import { type Caller, type Callers, LOCAL_CALLER } from '../callers/callers.ts'
import { userId } from '../callers/users.ts'
import type { ToolManager } from '../tools/tool-manager.ts'
import { answerProblem, questionOf } from './questions.ts'

/** An approval as people see it. */
export interface ApprovalView {
  readonly id: string
  readonly status: PauseStatus
  readonly tenant: string
  readonly tool: string
  /** What an MCP server asks during a call; null if a call waits to run. */
  readonly question: { readonly kind: 'elicitation' | 'sampling'; readonly server: string } | null
  /** The parameters that the caller asked for, or those of the question. */
  readonly params: Params
  /** The approved parameters, if they differ, or the answer to the question. */
  readonly approved_params: Params | null
  /** The id of the key that asked; empty for the application itself. */
  readonly caller: string
  readonly caller_name: string
  readonly run_id: string | null
  readonly requested_at: string
  /** It can be decided until then, and an approved call can run until then. */
  readonly expires_at: string
  readonly decided_by: string | null
  readonly decided_by_name: string | null
  readonly decided_at: string | null
  readonly reason: string | null
  /** Why this caller may not decide; null if it may, or if it is decided. */
  readonly refused: string | null
  /** Why a call that has not run can only be rejected, or asked for again; null if it can run. */
  readonly changed: string | null
}

export interface ApprovalDecision {
  readonly decision: Decision
  /** Run with these parameters instead, or answer the question with them. */
  readonly params?: unknown
  readonly reason?: string | undefined
}

/** The task that posts news to `approvals.webhook`. */
export const APPROVAL_WEBHOOK = 'toolyard/approval-webhook'

/** News of an approval, without parameters and reasons. */
export interface ApprovalNews extends Pick<ApprovalView, 'id' | 'tenant' | 'tool' | 'status'> {
  readonly type: 'approval.asked' | 'approval.decided'
  readonly requested_at: string
  readonly expires_at: string
  readonly decided_at: string | null
}

interface ApprovalsOptions {
  readonly pauses: PauseStore
  readonly callers: Callers
  readonly events: AuditEvents
  readonly clock: Clock
  readonly manager: () => ToolManager
  /** Passes news on. Must not throw. */
  readonly tell: (news: ApprovalNews) => void
}

const APPROVERS: readonly string[] = ['operator', 'admin']
const NO_RULE: ApprovalRule = {}
const OWN_WISH: ApprovalRule = { self: true }
const SHOWN_WITHIN_MS = 1_000

/** Lists and decides approvals. Undefined in place of a caller stands for the user of this machine. */
export class Approvals {
  readonly #options: ApprovalsOptions

  constructor(options: ApprovalsOptions) {
    this.#options = options
  }

  async list(filter: Omit<PauseFilter, 'now'>, caller?: Caller) {
    const { pauses, next } = await this.#options.pauses.list({ ...filter, now: this.#now() })
    const approvals = await Promise.all(pauses.map((pause) => this.#view(pause, caller)))
    return { approvals, ...(next !== undefined && { next }) }
  }

  async get(tenant: string, id: string, caller?: Caller): Promise<ApprovalView | undefined> {
    const pause = await this.#options.pauses.get(tenant, id)
    return isForPeople(pause) ? this.#view(pause, caller) : undefined
  }

  /** Decides an approval of this tenant. Throws an OperationError if that is not possible. */
  async decide(tenant: string, id: string, given: ApprovalDecision, by: Actor, caller?: Caller): Promise<ApprovalView> {
    const { pauses, events } = this.#options
    const pause = await this.#pending(tenant, id)
    const refused = this.#refused(pause, caller, by)
    if (refused !== undefined) throw new OperationError('forbidden', refused)
    const { decision, reason } = given
    if (decision === 'reject' && given.params !== undefined) {
      throw new OperationError('invalid', 'A rejected call has no parameters: leave params out')
    }
    const question = questionOf(pause)
    const decide = () =>
      question === undefined ? this.#runnable(pause, given.params, by) : answer(question, given.params)
    const params = decision === 'approve' ? await decide() : pause.params
    const changed = !sameJson(params, pause.params)
    if (changed) refuseLong(params)
    const now = this.#now()
    const decided = await pauses.decide(tenant, id, {
      decision,
      decided_params: changed || (question !== undefined && decision === 'approve') ? params : null,
      decided_by: by.id,
      decided_by_name: by.name,
      decided_at: now,
      reason: reason ?? null,
      expires_at: now + USABLE_MS,
    })
    // Another caller may have decided meanwhile.
    if (!decided) await this.#pending(tenant, id)
    const asked = question && { server: question.server, question: question.kind }
    const detail = { tool: pause.tool, ...(asked ?? { changed }), decision, ...(reason !== undefined && { reason }) }
    await events.record('approval.decided', { by, tenant, subject: id, detail, content: params })
    const view = (await this.get(tenant, id, caller)) as ApprovalView
    const { tool, status, requested_at, expires_at, decided_at } = view
    this.#options.tell({ type: 'approval.decided', id, tenant, tool, status, requested_at, expires_at, decided_at })
    return view
  }

  /** Whether the caller may decide about its own calls of a tool. */
  mayDecideOwn(tool: string, caller: Caller | undefined, context?: CallContext): boolean {
    const registry = this.#options.manager().getRegistry()
    const called = registry.find(tool, context)
    const { self = false, by = APPROVERS } = ruleOf(called && registry.definitionOf(called))
    return self && caller?.scopes.has('approve') === true && by.includes(caller.role)
  }

  /** Lets MCP clients decide about their own calls, where `self` allows that. */
  forMcp(path: string, origin?: string) {
    // A token of a user may have another role than the latest one: its user decides on the page.
    const own = ({ caller = '', user }: CallContext) =>
      caller === LOCAL_CALLER.id ? LOCAL_CALLER : user === undefined ? this.#options.callers.byId(caller) : undefined
    return {
      path,
      origin,
      mayDecide: (tool: string, context: CallContext): boolean => this.mayDecideOwn(tool, own(context), context),
      decide: async (id: string, decision: Decision, context: CallContext): Promise<void> => {
        const caller = own(context)
        if (caller === undefined) return
        await this.decide(caller.tenant, id, { decision }, caller, caller).catch((error: unknown) => {
          // Decided or expired meanwhile: the repeated call says so.
          if (!(error instanceof OperationError)) throw error
        })
      },
    }
  }

  /** Records that a call asked for approval. */
  asked(pause: Pause): void {
    const { id, tenant, caller, tool, params } = pause
    const question = questionOf(pause)
    const detail = { tool, ...(question && { server: question.server, question: question.kind }) }
    // The row of the call says over which interface.
    const by = { id: caller, name: this.#options.callers.nameOf(caller), source: null }
    void this.#options.events.record('approval.asked', { by, tenant, subject: id, detail, content: params })
    const requested_at = isoTime(pause.requested_at)
    const news = { id, tenant, tool, status: 'pending', requested_at, decided_at: null } as const
    this.#options.tell({ type: 'approval.asked', ...news, expires_at: isoTime(pause.expires_at) })
  }

  async #pending(tenant: string, id: string): Promise<Pause> {
    const pause = await this.#options.pauses.get(tenant, id)
    if (!isForPeople(pause)) throw new OperationError('not_found', `Approval '${id}' not found`)
    const status = pauseStatus(pause, this.#now())
    if (status === 'pending') return pause
    const why = status === 'expired' ? 'has expired' : `was ${status} by '${pause.decided_by_name}'`
    throw new OperationError('conflict', `The approval '${id}' ${why}`)
  }

  /** Why this caller may not decide. */
  #refused(pause: Pause, caller: Caller | undefined, actor?: Actor): string | undefined {
    // A program names the person who decides.
    const person = caller === undefined && actor?.source === 'code' ? { ...actor, user: actor.id } : caller
    if (person === undefined || person === LOCAL_CALLER) return undefined
    // Whoever called the tool may answer its server.
    const rule = pause.kind === 'input' ? OWN_WISH : ruleOf(this.#definition(pause))
    const { by = APPROVERS, self = false } = rule
    if (caller !== undefined && !by.includes(caller.role)) {
      return `Calls of tool '${pause.tool}' are decided by the role ${by.join(' or ')}, not by ${caller.role}`
    }
    if (caller?.tools !== undefined && !matchesGlobs(caller.tools, pause.tool)) {
      return `Tool '${pause.tool}' is not one of the tools of this API key`
    }
    if (!self && this.#hasAsked(pause, person)) {
      return 'The caller that asked may not decide, and neither may keys that it created'
    }
    return undefined
  }

  /** A user who signs in, for whom a key acts, or whom a program names is the same user of the tenant. */
  #hasAsked({ tenant, caller, subject }: Pause, { id, user }: Pick<Caller, 'id' | 'user'>): boolean {
    // A program names any text, which a store may return well-formed. Its own users are callers.
    const wellFormed = (texts: readonly string[]) => texts.map((text) => text.toWellFormed())
    const idOf = (name: string) => userId(tenant, name.toWellFormed())
    const askers = wellFormed(subject === null ? [caller] : [caller, idOf(subject)])
    const own = wellFormed(user === undefined ? [id] : [id, user, idOf(user)])
    return own.some((one) => askers.some((asker) => this.#options.callers.descends(one, asker)))
  }

  /** The parameters to run with. Throws if the call could not run now. */
  async #runnable(pause: Pause, changed: unknown, { source }: Actor): Promise<Params> {
    const { callers, manager } = this.#options
    const { tool, tenant, caller } = pause
    const conflict = (why: string) => new OperationError('conflict', `The call can no longer run: ${why}`)
    const definition = this.#definition(pause)
    if (definition === undefined)
      throw conflict(`tool '${tool}' ${pause.version} doesn't exist here. Was it removed, or is it in another program?`)
    const broken = manager().getRegistry().brokenReason(definition)
    if (broken !== undefined) throw conflict(broken)
    const unfit = await this.#changed(pause).catch((error: unknown) => asToolError(error, tool).message)
    if (unfit !== undefined) throw conflict(unfit)
    // A program knows its users: it passes their rights when the call runs.
    const isUser = source === 'code' && !callers.isKnown(caller)
    if (!isUser && caller !== '' && !callers.isValid(caller))
      throw conflict('the key that asked was revoked or has expired, or the sign-in of the user has ended')
    if (!isUser && missingPermission(definition, callers.rightsOf(caller, tenant)) !== undefined) {
      throw conflict(`the caller that asked has no permission for tool '${tool}' any more`)
    }
    try {
      return await manager()
        .getExecutor()
        .prepare(pinnedName(definition), changed ?? pause.params)
    } catch (error) {
      const { message } = asToolError(error, tool)
      throw changed === undefined ? conflict(message) : new OperationError('invalid', message)
    }
  }

  #definition({ tool: name, version }: Pick<Pause, 'tool' | 'version'>): ToolDefinition | undefined {
    const registry = this.#options.manager().getRegistry()
    const tool = registry.at({ name, version })
    return tool && registry.definitionOf(tool)
  }

  /** Why the definition isn't the one that was asked about. Throws if that isn't known. */
  async #changed(pause: Pause): Promise<string | undefined> {
    const changed = await this.#options.manager().getExecutor().changedSince(pause)
    if (changed === undefined) return undefined
    const fix = pause.decision === null ? 'reject it, and the caller can' : 'the call does not run, and its caller can'
    return `${changedText(changed)}: ${fix} ask again`
  }

  /** Undefined also if the tool isn't here: in another program, it may be. */
  async #shownChange(pause: Pause): Promise<string | undefined> {
    const isOpen = pause.begun_at === null && pause.decision !== 'reject' && pause.expires_at > this.#now()
    const definition = pause.kind === 'approval' && isOpen ? this.#definition(pause) : undefined
    if (definition === undefined || this.#options.manager().getRegistry().brokenReason(definition)) return undefined
    // It may depend on an MCP server that is starting. A list does not wait for that.
    return within(
      SHOWN_WITHIN_MS,
      this.#changed(pause).catch(() => undefined),
      this.#options.clock,
    )
  }

  async #view(pause: Pause, caller: Caller | undefined): Promise<ApprovalView> {
    const { id, tenant, tool, params, decided_params, run_id, decided_by, decided_by_name, decided_at, reason } = pause
    const status = pauseStatus(pause, this.#now())
    const question = questionOf(pause)
    return {
      id,
      status,
      tenant,
      tool,
      question: question === undefined ? null : { kind: question.kind, server: question.server },
      params: question === undefined ? params : question.request,
      approved_params: decided_params,
      caller: pause.caller,
      caller_name: this.#options.callers.nameOf(pause.caller),
      run_id,
      requested_at: isoTime(pause.requested_at),
      expires_at: isoTime(pause.expires_at),
      decided_by,
      decided_by_name,
      decided_at: decided_at === null ? null : isoTime(decided_at),
      reason,
      refused: status === 'pending' ? (this.#refused(pause, caller) ?? null) : null,
      changed: (await this.#shownChange(pause)) ?? null,
    }
  }

  #now(): number {
    return this.#options.clock.wall()
  }
}

const isForPeople = (pause: Pause | undefined): pause is Pause => pause?.kind === 'approval' || pause?.kind === 'input'

function answer(question: NonNullable<ReturnType<typeof questionOf>>, given: unknown): Params {
  const problem = answerProblem(question, given)
  if (problem !== undefined) throw new OperationError('invalid', problem)
  return given as Params
}

/** The rule in force now. A tool without one is asked about only because its caller wanted that. */
function ruleOf(tool: ToolDefinition | undefined): ApprovalRule {
  if (typeof tool?.approval === 'object') return tool.approval
  return tool !== undefined && (tool.approval ?? false) === false ? OWN_WISH : NO_RULE
}

const isoTime = (ms: number): string => new Date(ms).toISOString()
