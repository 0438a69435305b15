import type { CallContext } from '../core/call-context.ts'
import { ABOVE_ZERO, type Checks, checkAll, isTextList, must, number } from '../core/check-options.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import { matchesGlobs, missingPermission } from '../core/execution/permit.ts'
import type { ToolRegistry } from '../core/execution/tool-registry.ts'
import { OPEN, type ToolView } from '../core/execution/tool-view.ts'
import type { Handler } from '../core/handler.ts'
import type { Described } from '../core/json/described.ts'
import { parseJson } from '../core/json/json-depth.ts'
import type { ToolMetrics } from '../core/records/tool-metrics.ts'
import { type TextVectors, ToolIndex } from '../core/search/tool-index.ts'
import { LIMITS } from '../core/snapshot.ts'
import type { ToolDefinition } from '../core/tool.ts'
import { textIn } from '../models/content.ts'
import { type Message, type OfferedTool, SEARCH_TOOLS } from '../models/model.ts'
import type { RunRequest, TrackedCall } from './run.ts'
import { type Offer, ToolOffer } from './tool-offer.ts'

/** The key `tools.discovery`. */
export const DISCOVERY_SCHEMA = {
  type: 'object',
  description: 'If there are too many tools, models are offered those that match, and a search for the others.',
  additionalProperties: false,
  properties: {
    enabled: {
      enum: ['auto', true, false],
      description: '"auto": only for runs whose tools exceed max_tool_tokens. Default: "auto".',
    },
    max_tool_tokens: {
      type: 'integer',
      minimum: 100,
      maximum: 1_000_000,
      description: 'About how many tokens the tools of a request may have. Default: 8000.',
    },
    always: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description: 'Patterns of tools that are always offered, such as "orders_*". Default: none.',
    },
  },
} as const

export interface DiscoverySettings extends Described<typeof DISCOVERY_SCHEMA> {}

const SETTINGS: Checks<DiscoverySettings> = {
  enabled: must('"auto", true or false', (value) => value === 'auto' || typeof value === 'boolean'),
  max_tool_tokens: number(ABOVE_ZERO),
  always: must('an array of patterns, such as ["orders_*"]', isTextList),
}
const DISCOVERY_DEFAULTS = { enabled: 'auto', max_tool_tokens: 8_000, always: [] } as const

interface DiscoveryParts {
  readonly registry: ToolRegistry
  /** How often a tenant has called each tool. */
  readonly metrics?: Pick<ToolMetrics, 'usesOf'>
  readonly settings?: DiscoverySettings | undefined
  /** Without vectors, tools are found by words only. */
  readonly vectors?: () => Promise<TextVectors | undefined>
}

/** The tools that a run is offered so far. They are only appended to, so that providers can cache the prompt. */
interface ChosenTools {
  /** Everything that the run may call. */
  readonly offer: Offer
  /** Grows with what is found. */
  readonly tools: readonly ToolDefinition[]
  /** The tools that the calls have found, and that weren't offered before. */
  found(calls: readonly TrackedCall[]): readonly ToolDefinition[]
}

export const DEFAULT_FOUND = 5
export const MAX_FOUND = 50
const MAX_FOUND_BY_MODELS = 20
/** The tools that match a message of the user, of which the last ones count. */
const MATCHES = 10
const MAX_SEARCHED_MESSAGES = 8
/** Schemas are JSON: a token has about four characters. */
const CHARACTERS_PER_TOKEN = 4
const TOKENS_PER_TOOL = 8
const MAX_DESCRIPTION = 300

/** Finds tools by what they do, and chooses those that a run is offered if there are too many. */
export class ToolDiscovery {
  readonly offers: ToolOffer
  readonly #parts: DiscoveryParts
  readonly #settings: Required<DiscoverySettings>
  readonly #tool: ToolView
  readonly #tokens = new WeakMap<OfferedTool, number>()
  readonly #lists = new WeakMap<readonly OfferedTool[], KnownList>()
  /** By offer: the same with the tool that searches. */
  readonly #widened = new WeakMap<Offer, Offer>()
  readonly #stale = new Set<string>()
  #opening: Promise<ToolIndex> | undefined

  constructor(parts: DiscoveryParts) {
    this.#parts = parts
    if (parts.settings !== undefined) checkAll('discovery', parts.settings, SETTINGS)
    this.#settings = { ...DISCOVERY_DEFAULTS, ...parts.settings }
    this.offers = new ToolOffer(parts.registry)
    this.#tool = searchTool((params, context) => this.#run(params, context))
    parts.registry.addUnlisted(this.#tool)
  }

  get always(): readonly string[] {
    return this.#settings.always
  }

  /** The tool that searches; undefined if another tool has its name, or if this caller may not use it. */
  toolFor(rights: CallContext): ToolDefinition | undefined {
    const isOurs = this.#parts.registry.find(SEARCH_TOOLS) === this.#tool
    return isOurs && missingPermission(this.#tool, rights) === undefined ? this.#tool : undefined
  }

  /** The best of these tools for a query, the best first. */
  async search<Tool extends OfferedTool>(
    query: string,
    tools: readonly Tool[],
    { most = DEFAULT_FOUND, tenant = LOCAL_TENANT }: { readonly most?: number; readonly tenant?: string } = {},
  ): Promise<Tool[]> {
    const index = await this.#ready()
    const { byName } = this.#known(tools)
    const names = index.search(query, most, (name) => byName.has(name), this.#parts.metrics?.usesOf(tenant))
    return names.map((name) => byName.get(name) as Tool)
  }

  /** Whether a run is offered only some of these tools. */
  isNeeded({ tools }: Offer): boolean {
    const { enabled, max_tool_tokens } = this.#settings
    if (enabled === false || tools.length === 0) return false
    return enabled !== 'auto' || this.#known(tools).tokens() > max_tool_tokens
  }

  /** What a run is offered of a long list. */
  async choose(whole: Offer, { messages, client_tools, context = {} }: RunRequest): Promise<ChosenTools> {
    const isTaken = whole.names.has(SEARCH_TOOLS) || client_tools?.some(({ name }) => name === SEARCH_TOOLS)
    const searching = isTaken ? undefined : this.toolFor(context)
    const { always, byName } = this.#known(whole.tools)
    const begun = searching === undefined ? always() : [searching, ...always()]
    const steps = await this.#stepsOf(messages, whole.tools, context.tenant)
    const chosen = this.#within(this.#settings.max_tool_tokens, begun, steps, byName)
    const tools = [...chosen.values()]
    return {
      offer: searching === undefined ? whole : this.#beside(whole, searching),
      tools,
      found(calls) {
        const names = calls.flatMap(({ tool, result }) =>
          tool === SEARCH_TOOLS && searching !== undefined ? (result.success ? namesIn(result.result) : []) : [tool],
        )
        const added = [...new Set(names)].flatMap((name) => (chosen.has(name) ? [] : (byName.get(name) ?? [])))
        for (const tool of added) chosen.set(tool.name, tool)
        tools.push(...added)
        return added
      },
    }
  }

  /** What each message brings: a request the tools that match it, a call its tool, and a search what it found. */
  async #stepsOf(messages: readonly Message[], tools: readonly ToolDefinition[], tenant?: string): Promise<Step[]> {
    const asked = messages.filter(({ role }) => role === 'user').slice(-MAX_SEARCHED_MESSAGES)
    const steps: Step[] = []
    for (const message of messages) {
      if (message.role === 'tool' && message.name === SEARCH_TOOLS) {
        steps.push({ names: namesIn(readResult(textIn(message.content))), stays: true })
      } else if (message.role === 'assistant') {
        steps.push({ names: message.tool_calls?.map((call) => call.function.name) ?? [], stays: true })
      } else if (asked.includes(message)) {
        const options = { most: MATCHES, ...(tenant !== undefined && { tenant }) }
        const found = await this.search(textIn(message.content), tools, options)
        steps.push({ names: found.map(({ name }) => name), stays: false })
      }
    }
    return steps
  }

  /** Later requests have precedence, but the tools stay in the order of the conversation. */
  #within(
    budget: number,
    begun: readonly ToolDefinition[],
    steps: readonly Step[],
    byName: ReadonlyMap<string, ToolDefinition>,
  ): Map<string, ToolDefinition> {
    const kept = new Set([
      ...begun.map(({ name }) => name),
      ...steps.flatMap(({ names, stays }) => (stays ? names : [])),
    ])
    let spent = [...begun, ...[...kept].flatMap((name) => byName.get(name) ?? [])].reduce(
      (sum, tool) => sum + this.#tokensOf(tool),
      0,
    )
    let isFirst = true
    for (const { names, stays } of steps.toReversed()) {
      for (const name of stays ? [] : names) {
        const cost = this.#tokensOf(byName.get(name) as ToolDefinition)
        if (kept.has(name) || (spent + cost > budget && !isFirst)) continue
        kept.add(name)
        spent += cost
        isFirst = false
      }
    }
    const chosen = new Map(begun.map((tool) => [tool.name, tool]))
    for (const name of steps.flatMap(({ names }) => names)) {
      const tool = kept.has(name) ? byName.get(name) : undefined
      if (tool !== undefined && !chosen.has(name)) chosen.set(name, tool)
    }
    return chosen
  }

  async #run({ query, limit }: Parameters<Handler>[0], { rights = {} }: Parameters<Handler>[1]): Promise<SearchResult> {
    const { visible } = rights
    const { tools } = this.offers.to(rights)
    const permitted = visible === undefined ? tools : tools.filter(({ name }) => visible.has(name))
    const options = { most: Number(limit ?? DEFAULT_FOUND), tenant: rights.tenant ?? LOCAL_TENANT }
    const found = await this.search(String(query), permitted, options)
    const isRun = rights.source === 'loop'
    const note = found.length === 0 ? NOTHING_FOUND : isRun ? CALL_NEXT : CALL_BY_NAME
    // A run is offered the tools themselves.
    const shown = found.map(({ name, description, parameters }) =>
      isRun ? { name, description: description.slice(0, MAX_DESCRIPTION) } : { name, description, parameters },
    )
    return { found: shown, note }
  }

  async #ready(): Promise<ToolIndex> {
    this.#opening ??= this.#open()
    const index = await this.#opening
    await index.update(this.#changes())
    return index
  }

  *#changes(): Generator<[name: string, tool: ToolDefinition | undefined]> {
    const { registry } = this.#parts
    for (const name of this.#stale) {
      this.#stale.delete(name)
      const tool = registry.get(name)
      yield [name, tool && registry.definitionOf(tool)]
    }
  }

  async #open(): Promise<ToolIndex> {
    const { registry, vectors } = this.#parts
    registry.onChange((name) => this.#stale.add(name))
    for (const { name } of registry.definitions()) this.#stale.add(name)
    return new ToolIndex(await vectors?.())
  }

  /** Runs share their lists of tools: what is known of a long one is found once. */
  #known<Tool extends OfferedTool>(tools: readonly Tool[]): KnownList<Tool> {
    const known = this.#lists.get(tools) as KnownList<Tool> | undefined
    if (known !== undefined) return known
    const found = {
      byName: new Map(tools.map((tool) => [tool.name, tool])),
      always: lazily(() => tools.filter(({ name }) => matchesGlobs(this.#settings.always, name))),
      tokens: lazily(() => tools.reduce((sum, tool) => sum + this.#tokensOf(tool), 0)),
    }
    this.#lists.set(tools, found)
    return found
  }

  /** The offer with the tool that searches. */
  #beside(whole: Offer, searching: ToolDefinition): Offer {
    const known = this.#widened.get(whole)
    if (known !== undefined) return known
    const names = new Set([...whole.names, SEARCH_TOOLS])
    const widened = { ...whole, tools: [...whole.tools, searching], names }
    this.#widened.set(whole, widened)
    return widened
  }

  #tokensOf(tool: OfferedTool): number {
    const known = this.#tokens.get(tool)
    if (known !== undefined) return known
    const tokens = toolTokens(tool)
    this.#tokens.set(tool, tokens)
    return tokens
  }
}

interface KnownList<Tool extends OfferedTool = OfferedTool> {
  readonly byName: ReadonlyMap<string, Tool>
  /** The tools that every run is offered. */
  readonly always: () => readonly Tool[]
  readonly tokens: () => number
}

function lazily<Value>(find: () => Value): () => Value {
  let found: { readonly value: Value } | undefined
  return () => {
    found ??= { value: find() }
    return found.value
  }
}

/** About how many tokens a tool has in a prompt. */
export const toolTokens = ({ name, description, parameters }: OfferedTool): number =>
  TOKENS_PER_TOOL +
  Math.ceil((name.length + description.length + JSON.stringify(parameters).length) / CHARACTERS_PER_TOKEN)

interface Step {
  readonly names: readonly string[]
  /** Whether its tools are offered whatever the budget says. */
  readonly stays: boolean
}

interface SearchResult {
  readonly found: readonly (Pick<OfferedTool, 'name' | 'description'> & Partial<OfferedTool>)[]
  readonly note: string
}

const NOTHING_FOUND = 'No tools match. Search with other words for what the tool should do'
const CALL_NEXT = 'You can call these tools from your next turn on'
const CALL_BY_NAME = 'Call one of these tools by its name, with parameters that match its schema'

const searchTool = (execute: Handler): ToolView => ({
  name: SEARCH_TOOLS,
  description:
    'Finds tools by what they do. More tools exist than you are shown: search before you say that something is not possible. ' +
    'You can call the tools that it finds.',
  parameters: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        minLength: 1,
        maxLength: 1_000,
        description: 'What the tool should do, in a few words, such as "send a text message".',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: MAX_FOUND_BY_MODELS,
        description: `How many tools to return. Default: ${DEFAULT_FOUND}.`,
      },
    },
    required: ['query'],
    additionalProperties: false,
  },
  implementation: { type: 'discovery' },
  effect: 'read',
  execute,
  [OPEN]: true,
})

/** The names in a result of the search, which may come from a client. */
function namesIn(result: unknown): string[] {
  const { found } = Object(result) as { found?: unknown }
  const names = Array.isArray(found)
    ? found.slice(0, MAX_FOUND).map((one) => (Object(one) as { name?: unknown }).name)
    : []
  return names.filter((name) => typeof name === 'string')
}

/** The result in an envelope; undefined if there is none. */
function readResult(text: string): unknown {
  try {
    return (Object(parseJson(text, LIMITS.bodyDepth)) as { result?: unknown }).result
  } catch {
    return undefined
  }
}
