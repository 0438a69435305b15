import { randomUUID } from 'node:crypto'
import type { CallContext, ParentCall } from '../../core/call-context.ts'
import { matchesGlobs } from '../../core/execution/permit.ts'
import type { Handler, HandlerContext, Identity, IsolatedHandler, Kind } from '../../core/handler.ts'
import { ownValue } from '../../core/json/json-type.ts'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { suggest } from '../../core/suggest.ts'
import type { Effect, Params, ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { Message, Model } from '../../models/model.ts'
import type { ModelCatalogue } from '../../models/model-catalogue.ts'
import type { ModelPrices } from '../../models/model-info.ts'
import { AGENT_SCHEMA, type AgentImplementation } from './agent-schema.ts'
import { type CompositeParts, strongestEffect } from './callees.ts'

/** Agents that call agents. */
const MAX_AGENTS = 3
const CHAIN_HEADER = 'toolyard-chain'
const TIME_HEADER = 'toolyard-time-left'

interface AgentParts extends CompositeParts {
  /** Identifies this installation in chains of agents. */
  readonly installation: string
  /** Makes the requests to other servers. */
  readonly http: Kind
  loop(): AgentLoop
  models(): Promise<ModelCatalogue>
}

interface AgentRequest {
  readonly model: Model
  readonly messages: readonly Message[]
  readonly allowed_tools: readonly string[]
  readonly context: CallContext
  readonly parent_run: string | undefined
  readonly agent: string
  readonly prices?: ModelPrices
  readonly budget?: NonNullable<AgentImplementation['budget']>
  readonly max_iterations?: number
  /** The steps of the run so far. The loop repeats them, and adds its own. */
  readonly journal?: { readonly steps: readonly never[]; readonly keyed: boolean; append(step: unknown): Promise<void> }
}

/** What the run has done when it waits for approval. */
interface Note {
  readonly run_id: string
  readonly steps: readonly never[]
}

interface AgentAnswer {
  readonly content: string
  readonly stop_reason: string
  readonly error?: string
  readonly approvals?: readonly { readonly id: string; readonly expires_at: string; readonly tool: string }[]
}

interface CallResult {
  readonly type: 'call-result'
  readonly call: { readonly tool: string; readonly result: { readonly success: boolean } }
}

interface OtherEvent {
  readonly type: 'gate' | 'usage' | 'call-progress' | `${string}-delta` | `tool-call-${string}`
}

/** The loop between a model and its tools. */
interface AgentLoop {
  run(
    request: AgentRequest,
  ): AsyncIterable<CallResult | { readonly type: 'answer'; readonly answer: AgentAnswer } | OtherEvent>
}

const LOCAL_KEYS = ['tools', 'budget', 'max_iterations'] as const
const PLACEHOLDER = /\{\{(\w+)\}\}/g

/** Tools that are models with tools of their own, here or on another server. */
export class AgentKind implements Kind {
  readonly schema = AGENT_SCHEMA
  readonly runsProgram = false
  readonly #parts: AgentParts
  readonly #remotes = new WeakMap<ToolDefinition, () => Handler | IsolatedHandler>()

  constructor(parts: AgentParts) {
    this.#parts = parts
  }

  /** The strongest of its tools. Those of another server are unknown. */
  effect(tool: ToolDefinition): Effect {
    return agentOf(tool).url === undefined ? strongestEffect(tool, this.#parts) : 'write'
  }

  problem(tool: ToolDefinition): string | undefined {
    const agent = agentOf(tool)
    const { check, explain } = compileSchema(AGENT_SCHEMA)
    if (check?.(agent) !== true) {
      return explain(agent)
        .map(({ message }) => message)
        .join(', ')
    }
    const local = LOCAL_KEYS.find((key) => agent[key] !== undefined)
    if (agent.url !== undefined && local !== undefined)
      return `'${local}' belongs to the other server: remove it, or url`
    if (agent.url === undefined && agent.api_key !== undefined) return "'api_key' needs url"
    if (agent.url !== undefined) return this.#parts.http.problem?.(remoteTool(tool))
    const names = Object.keys(Object(tool.parameters.properties))
    const unknown = [...(agent.prompt ?? '').matchAll(PLACEHOLDER)].find(([, name]) => !names.includes(name as string))
    if (unknown === undefined) return undefined
    const [near] = suggest(unknown[1] as string, names)
    return `The prompt refers to the unknown parameter '${unknown[1]}'${near === undefined ? '' : `. Did you mean '${near}'?`}`
  }

  fault(tool: ToolDefinition): string | undefined {
    return agentOf(tool).url === undefined ? undefined : this.#parts.http.fault?.(remoteTool(tool))
  }

  warning(tool: ToolDefinition): string | undefined {
    const { url, tools = [] } = agentOf(tool)
    if (url !== undefined) return undefined
    return tools.length === 0 ? 'The agent has no tools: name patterns of tools in "tools"' : undefined
  }

  /** A pattern never matches the agent itself. */
  callees(tool: ToolDefinition): readonly string[] {
    const { tools = [] } = agentOf(tool)
    const names = this.#parts.registry.definitions().map(({ name }) => name)
    return names.filter((name) => name !== tool.name && matchesGlobs(tools, name))
  }

  async identity(tool: ToolDefinition): Promise<Identity> {
    const { url, api_key: _secret, ...implementation } = agentOf(tool)
    if (url === undefined) return { implementation, calls: this.callees(tool) }
    const request = await this.#parts.http.identity?.(remoteTool(tool))
    return { implementation: [implementation, request?.implementation] }
  }

  bind(tool: ToolDefinition): () => Handler {
    const handler: Handler = (params, context) => {
      const caller = this.#enter(tool, context)
      return agentOf(tool).url === undefined
        ? this.#run(tool, params, caller, context)
        : this.#ask(tool, params, context, caller)
    }
    return () => handler
  }

  /** Refuses chains that are too long or return to this agent, before anything runs. */
  #enter({ name }: ToolDefinition, { child }: HandlerContext): CallContext & { readonly parent: ParentCall } {
    const context = child?.()
    if (context?.parent === undefined) throw failed(`Agent '${name}' can't be called here`)
    const { agents = [], path } = context.parent
    const own = `${this.#parts.installation}/${name}`
    const chain = [...agents.map((one) => one.slice(one.indexOf('/') + 1)), name].join(' → ')
    if (agents.includes(own) || path.slice(0, -1).includes(name))
      throw failed(`Agent '${name}' can't call itself: ${chain}`)
    if (agents.length >= MAX_AGENTS) throw failed(`At most ${MAX_AGENTS} agents can call each other: ${chain}`)
    return { ...context, parent: { ...context.parent, agents: [...agents, own] } }
  }

  async #run(
    tool: ToolDefinition,
    params: Params,
    caller: CallContext & { readonly parent: ParentCall },
    { progress, report }: HandlerContext,
  ) {
    const { model: id, budget, max_iterations } = agentOf(tool)
    const { path } = caller.parent
    const models = await this.#parts.models()
    const { prices } = models.info(id)
    const { run_id: runId = randomUUID(), steps: before = [] } = (progress?.note as Note | undefined) ?? {}
    const steps = [...before]
    const append = async (step: unknown) => void steps.push(step as never)
    const events = this.#parts.loop().run({
      model: models.get(id, caller.models),
      messages: messagesFor(tool, params),
      // A tool above in the chain would start it again.
      allowed_tools: this.callees(tool).filter((name) => !path.includes(name)),
      context: { ...caller, runId },
      parent_run: caller.runId,
      agent: tool.name,
      ...(prices !== undefined && { prices }),
      ...(budget !== undefined && { budget }),
      ...(max_iterations !== undefined && { max_iterations }),
      // The run that continues repeats the answers of the model and the results of its calls.
      ...(progress !== undefined && { journal: { steps: before, keyed: false, append } }),
    })
    let answer: AgentAnswer | undefined
    for await (const event of events) {
      if (event.type === 'answer') answer = event.answer
      else if (event.type === 'call-result') report(callReport(event))
    }
    if (answer === undefined) throw failed(`Agent '${tool.name}' ended without an answer`)
    if (answer.stop_reason === 'approval_required' && progress !== undefined) {
      progress.note = { run_id: runId, steps } satisfies Note
    }
    return resultOf(tool, answer, runId)
  }

  /** The headers can only lower the limits of the other server. */
  #ask(
    tool: ToolDefinition,
    params: Params,
    context: HandlerContext,
    { parent, stores }: CallContext & { readonly parent: ParentCall },
  ) {
    const bound = this.#remotes.get(tool) ?? this.#parts.http.bind(remoteTool(tool))
    this.#remotes.set(tool, bound)
    const send = bound() as Handler
    const left = Math.max(1, Math.floor(parent.deadline - this.#parts.clock.now()))
    const { model } = agentOf(tool)
    const messages = messagesFor(tool, params)
    const asked = { model, messages, ...(stores === false && { store: false }) }
    return send({ ...asked, [CHAIN_HEADER]: (parent.agents ?? []).join(', '), [TIME_HEADER]: left }, context)
  }
}

const agentOf = ({ implementation }: ToolDefinition): AgentImplementation => implementation as AgentImplementation

const failed = (message: string): ToolExecutionError => new ToolExecutionError('EXECUTION_ERROR', message)

/** Parameters are data: they enter the prompt as JSON, and those that it doesn't mention are the message. */
function messagesFor(tool: ToolDefinition, params: Params) {
  const { prompt } = agentOf(tool)
  const used = new Set<string>()
  const filled = prompt?.replaceAll(PLACEHOLDER, (_, name: string) => {
    used.add(name)
    return JSON.stringify(ownValue(params, name) ?? null)
  })
  const rest = Object.fromEntries(Object.entries(params).filter(([name]) => !used.has(name)))
  const names = Object.keys(rest)
  const isTask = names.length === 1 && typeof rest.task === 'string'
  const content = isTask ? String(rest.task) : names.length > 0 ? JSON.stringify(rest) : 'Begin.'
  return [
    ...(filled === undefined ? [] : [{ role: 'system' as const, content: filled }]),
    { role: 'user' as const, content },
  ]
}

/** Progress for the caller of the agent. */
function callReport({ call: { tool, result } }: CallResult): object {
  const status = result.success ? 'done' : 'failed'
  return { tool, status, message: `${tool}: ${status}` }
}

function resultOf({ name }: ToolDefinition, answer: AgentAnswer, run_id: string) {
  const { content, stop_reason, error, approvals: [waiting] = [] } = answer
  if (stop_reason === 'error') throw failed(`Agent '${name}' failed: ${error}`)
  if (stop_reason === 'cancelled') throw new ToolExecutionError('CANCELLED', `Agent '${name}' was cancelled`)
  if (waiting !== undefined) {
    const { id, expires_at, tool } = waiting
    const message = `Agent '${name}' waits: Tool '${tool}' runs only with approval. Repeat the call with approval_id '${id}' when it is approved`
    throw new ToolExecutionError('APPROVAL_REQUIRED', message, { details: { approval: { id, expires_at } } })
  }
  return { answer: content, stop_reason, run_id }
}

/** The request of a remote agent, as an HTTP tool: with its network guard, limits, secrets and circuit. */
function remoteTool(tool: ToolDefinition): ToolDefinition {
  const { url = '', api_key: token } = agentOf(tool)
  const base = url.replace(/\/$/, '')
  return {
    ...tool,
    parameters: {
      type: 'object',
      properties: {
        model: { type: 'string' },
        messages: { type: 'array', items: { type: 'object' } },
        store: { type: 'boolean' },
        [CHAIN_HEADER]: { type: 'string' },
        [TIME_HEADER]: { type: 'integer' },
      },
    },
    implementation: {
      ...{ type: 'http', url: `${base}${/\/v\d+$/.test(base) ? '' : '/v1'}/chat/completions`, method: 'POST' },
      params_in: { [CHAIN_HEADER]: 'header', [TIME_HEADER]: 'header' },
      // The deadline of the call ends it.
      timeout_ms: 86_400_000,
      response_path: '$.choices[0].message.content',
      ...(token !== undefined && { auth: { type: 'bearer', token } }),
    },
  }
}

/** The chain of agents that a request belongs to, from its headers. Undefined if they are not valid. */
export function readChain(headers: Readonly<Record<string, unknown>>, now: number): ParentCall | undefined {
  const { [CHAIN_HEADER]: chain, [TIME_HEADER]: time } = headers
  if (typeof chain !== 'string' || chain === '') return undefined
  const agents = chain.split(',').map((one) => one.trim())
  const left = Number(time)
  const deadline = Number.isFinite(left) && left > 0 ? now + left : Number.POSITIVE_INFINITY
  return { id: '', path: [], agents: agents.slice(0, MAX_AGENTS + 1), deadline }
}
