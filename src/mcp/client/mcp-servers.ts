import type {
  Client,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from '@modelcontextprotocol/client'
import type { CallContext } from '../../core/call-context.ts'
import type { Clock } from '../../core/clock.ts'
import { missingPermission } from '../../core/execution/permit.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { packageOf } from '../../core/execution/tool-view.ts'
import type { HandlerContext } from '../../core/handler.ts'
import type { Log } from '../../core/log.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { Library } from '../server/tool-server.ts'
import { cleanText } from '../stdio/clean-text.ts'
import type { ConnectFailure } from './failures.ts'
import { definitionOf, listAll, mirroringProblem, type ServerTool, serverTool } from './listed-tool.ts'
import { McpConnection } from './mcp-connection.ts'
import { admitTools, checkTool, type PinStore, pinsOf, type ToolChange } from './pinned-tools.ts'
import { MCP_RETRY_ATTEMPTS, type McpServerSettings, type TokenSupply } from './server-settings.ts'

interface Offered {
  readonly server: string
  readonly tools: readonly ServerTool[]
}

/**
 * Registers the tools of MCP servers. A plain name belongs to local tools first, then to the first server that lists it;
 * other tools of that name are registered as `<server>__<tool>`. Tools of packages give way.
 */
class JoinedTools {
  readonly #registry: ToolRegistry
  readonly #log: Log
  readonly #joined = new Map<string, { readonly definition: ToolDefinition; readonly tool: ServerTool }>()
  readonly #stopListening: () => void
  #offered: readonly Offered[] = []
  #arranging = false
  #queued = false

  constructor(registry: ToolRegistry, log: Log) {
    this.#registry = registry
    this.#log = log
    this.#stopListening = registry.onChange(() => this.#arrangeSoon())
  }

  /** Updates the registry; earlier servers have precedence. */
  set(offered: readonly Offered[]): void {
    this.#offered = offered
    this.#arrange()
  }

  find(server: string, tool: string): ServerTool | undefined {
    return this.#offered.find((one) => one.server === server)?.tools.find(({ name }) => name === tool)
  }

  close(): void {
    this.#stopListening()
    this.set([])
  }

  /** Local tools that are added or removed take or free names. */
  #arrangeSoon(): void {
    if (this.#arranging || this.#queued) return
    this.#queued = true
    queueMicrotask(() => {
      this.#queued = false
      this.#arrange()
    })
  }

  #arrange(): void {
    this.#arranging = true
    try {
      const wanted = this.#named()
      for (const [name, { definition }] of this.#joined) {
        const next = wanted.get(name)
        if (next !== undefined && this.#isSame(name, next.server, next.tool)) continue
        if (this.#registry.get(name) === definition) this.#registry.unregister(name)
        this.#joined.delete(name)
      }
      for (const [name, { server, tool }] of wanted) {
        if (this.#joined.has(name)) continue
        const definition = definitionOf(tool, server, name)
        this.#registry.register(definition)
        this.#joined.set(name, { definition, tool })
      }
    } finally {
      this.#arranging = false
    }
  }

  #isSame(name: string, server: string, tool: ServerTool): boolean {
    const joined = this.#joined.get(name)
    return joined?.tool === tool && joined.definition.implementation.server === server
  }

  #named(): Map<string, { readonly server: string; readonly tool: ServerTool }> {
    const named = new Map<string, { readonly server: string; readonly tool: ServerTool }>()
    const isFree = (name: string): boolean => {
      if (named.has(name)) return false
      const holder = this.#registry.get(name)
      const isOurs = holder === undefined || holder === this.#joined.get(name)?.definition
      return isOurs || packageOf(holder) !== undefined
    }
    for (const { server, tools } of this.#offered) {
      for (const tool of tools) {
        const name = [tool.name, `${server}__${tool.name}`].find(isFree)
        if (name !== undefined) named.set(name, { server, tool })
        else this.#log.warn({ server, tool: tool.name }, 'MCP tool skipped: both of its names are taken')
      }
    }
    return named
  }
}

export interface McpServersParts {
  readonly registry: ToolRegistry
  readonly log: Log
  readonly clock: Clock
  readonly pins: PinStore
  readonly authProvider?: (settings: McpServerSettings) => Promise<TokenSupply | undefined>
  /** Gets each client before it connects, to add handlers for requests of the server. */
  readonly extend?: (client: Client) => void
}

interface Member {
  readonly connection: McpConnection
  /** Undefined until the first connection. */
  tools: readonly ServerTool[] | undefined
  /** What the server listed last, and what of it waits for approval. */
  listed: readonly ServerTool[]
  waiting: readonly ToolChange[]
}

/** The MCP servers of a configuration and their tools. */
export class McpServers {
  readonly #members = new Map<string, Member>()
  readonly #parts: McpServersParts
  readonly #joined: JoinedTools
  readonly library: ServerLibrary

  constructor(settings: readonly McpServerSettings[], parts: McpServersParts) {
    this.#parts = parts
    this.#joined = new JoinedTools(parts.registry, parts.log)
    this.library = new ServerLibrary((context) => this.#usable(context), parts.log)
    for (const one of settings) this.#members.set(one.name, this.#member(one))
  }

  get names(): string[] {
    return [...this.#members.keys()]
  }

  /** Connects to all servers; resolves when each is connected or given up. */
  async start(): Promise<void> {
    await Promise.all([...this.#members.values()].map(({ connection }) => connection.start()))
  }

  call(server: string, tool: string, params: Params, context: HandlerContext): Promise<unknown> {
    const definition = this.#joined.find(server, tool)?.raw
    return this.connection(server).call({
      tool,
      arguments: params,
      signal: context.signal,
      onProgress: (progress) => context.report(progress),
      traceparent: context.traceparent,
      ...(definition && { definition }),
    })
  }

  connection(server: string): McpConnection {
    const member = this.#members.get(server)
    if (member !== undefined) return member.connection
    const known = this.names.join(', ') || 'none'
    throw new ToolExecutionError('EXECUTION_ERROR', `MCP server '${server}' is not configured (known: ${known})`)
  }

  /** The tools of a server; empty until its first connection. */
  tools(server: string): readonly ServerTool[] {
    return this.#members.get(server)?.tools ?? []
  }

  /** New and changed tools of a pinned server, which wait for approval. */
  waiting(server: string): readonly ToolChange[] {
    return this.#members.get(server)?.waiting ?? []
  }

  /** Approves what waits. Returns false if what waits by now isn't what the caller has seen. */
  async approve(
    server: string,
    fingerprints: readonly string[],
    by: Parameters<PinStore['write']>[2],
  ): Promise<boolean> {
    const member = this.#members.get(server)
    if (member === undefined) return false
    const seen = new Set(fingerprints)
    if (member.waiting.some(({ fingerprint = '' }) => !seen.has(fingerprint))) return false
    const { pins } = this.#parts
    await pins.write(server, pinsOf(member.listed, await pins.read(server)), by)
    await this.#reload(member)
    return true
  }

  /** Checks the tools of pinned servers again after pins changed. */
  async checkPins(): Promise<void> {
    const pinned = [...this.#members.values()].filter(({ connection, tools }) => connection.settings.pin && tools)
    await Promise.all(pinned.map((member) => this.#reload(member)))
  }

  async close(): Promise<void> {
    this.#joined.close()
    await Promise.all([...this.#members.values()].map(({ connection }) => connection.close()))
  }

  #member(settings: McpServerSettings): Member {
    const { log, clock, authProvider, extend } = this.#parts
    const connection = new McpConnection(settings, {
      log,
      clock,
      onConnected: (client, signal) => this.#load(member, client, signal),
      onChanged: (list) => {
        if (list === 'tools') void this.#reload(member)
        else this.library.changed(list)
      },
      onGivenUp: (failure) => this.#givenUp(failure),
      authProvider: authProvider && (() => authProvider(settings)),
      extend,
    })
    const member: Member = { connection, tools: undefined, listed: [], waiting: [] }
    return member
  }

  async #load(member: Member, client: Client, signal: AbortSignal): Promise<void> {
    if (client.getServerCapabilities()?.tools === undefined) return
    const { name: server, reach } = member.connection.settings
    const mirrors = reach.type !== 'stdio' && client.getProtocolEra?.() === 'modern'
    const listed = (await listAll(client, 'tools/list', 'tools', signal)).map((entry) => serverTool(entry, server))
    const tools = new Map<string, ServerTool>()
    for (const tool of listed) {
      const problem = typeof tool === 'string' ? tool : problemOf(tool, tools, mirrors)
      if (problem) this.#parts.log.warn({ server, problem }, 'MCP tool skipped')
      else if (typeof tool !== 'string') tools.set(tool.name, tool)
    }
    const { settings } = member.connection
    const all = [...tools.values()]
    for (const tool of all) {
      signal.throwIfAborted()
      checkTool(tool)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const admitted = await admitTools(all, member.tools, settings, this.#parts)
    member.tools = admitted.tools
    member.listed = all
    member.waiting = admitted.waiting
    this.#join()
  }

  async #reload(member: Member): Promise<void> {
    const { log, clock } = this.#parts
    const server = member.connection.settings.name
    const timeout = new AbortController()
    const cancel = clock.after(RELOAD_TIMEOUT_MS, () => timeout.abort(new Error('Listing the tools timed out')))
    try {
      await this.#load(member, await member.connection.client(timeout.signal), timeout.signal)
      log.info({ server, tools: member.tools?.length }, 'MCP tools changed')
    } catch (error) {
      log.warn({ server, reason: String(error) }, 'MCP tools changed, but listing them failed')
    } finally {
      cancel()
    }
  }

  /** The servers of which the caller may use a tool. Those without tools belong to callers that are not limited to some. */
  #usable(context: CallContext): McpConnection[] {
    const tools = this.#parts.registry
      .definitions(context)
      .filter(({ implementation }) => implementation?.type === 'mcp')
    const isUsable = (tool: ToolDefinition) =>
      missingPermission(tool, context) === undefined && context.visible?.has(tool.name) !== false
    return [...this.#members].flatMap(([server, { connection }]) => {
      const own = tools.filter(({ implementation }) => implementation.server === server)
      const mayUse = own.length === 0 ? context.tools === undefined : own.some(isUsable)
      return mayUse ? [connection] : []
    })
  }

  #join(): void {
    const offered = [...this.#members].map(([server, { tools = [] }]) => ({ server, tools }))
    this.#joined.set(offered)
  }

  #givenUp({ reason, stderr, check, server }: ConnectFailure): void {
    const { log, registry } = this.#parts
    const local = registry.definitions().filter(({ implementation }) => implementation?.type !== 'mcp')
    log.error({ server }, `MCP connection failed after ${MCP_RETRY_ATTEMPTS} attempts`)
    log.error({ server }, `Reason: ${reason}`)
    log.error({ server }, `MCP Server stderr: ${stderr}`)
    log.error({ server }, `Check: ${check}`)
    log.warn({ server }, `Continuing with local tools only (${local.map(({ name }) => name).join(', ')})`)
  }
}

function problemOf(tool: ServerTool, before: ReadonlyMap<string, unknown>, mirrors: boolean): string | undefined {
  if (before.has(tool.name)) return `The name '${tool.name}' is listed twice`
  const problem = mirrors ? mirroringProblem(tool.inputSchema) : undefined
  return problem && `Tool '${tool.name}' cannot be called: ${cleanText(problem).slice(0, MAX_PROBLEM_CHARACTERS)}`
}

const MAX_PROBLEM_CHARACTERS = 300
const RELOAD_TIMEOUT_MS = 30_000

const REQUEST_TIMEOUT_MS = 10_000

type List = 'resources' | 'resourceTemplates' | 'prompts'

const METHODS = {
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
} as const satisfies Record<List, string>

interface NamedPrompt {
  readonly connection: McpConnection
  readonly prompt: Prompt
  readonly name: string
}

/** The resources and prompts of the connected servers that a caller may use. Servers that don't answer are skipped. */
class ServerLibrary implements Library {
  readonly #connections: (context: CallContext) => Iterable<McpConnection>
  readonly #log: Log
  readonly #listeners = new Set<(what: 'resources' | 'prompts') => void>()

  constructor(connections: (context: CallContext) => Iterable<McpConnection>, log: Log) {
    this.#connections = connections
    this.#log = log
  }

  async listResources(context: CallContext = {}): Promise<readonly Resource[]> {
    const seen = new Set<string>()
    const all = await this.#all<Resource>('resources', context)
    // A URI belongs to the first server that lists it.
    return all.map(({ entry }) => entry).filter(({ uri }) => typeof uri === 'string' && !seen.has(uri) && seen.add(uri))
  }

  async listResourceTemplates(context: CallContext = {}): Promise<readonly ResourceTemplateType[]> {
    return (await this.#all<ResourceTemplateType>('resourceTemplates', context)).map(({ entry }) => entry)
  }

  /** Asks the servers that list it, else all of them: it may match a template. */
  async readResource(uri: string, context: CallContext = {}): Promise<ReadResourceResult | undefined> {
    const owners = (await this.#all<Resource>('resources', context)).filter(({ entry }) => entry.uri === uri)
    const asked = owners.length > 0 ? owners.map(({ connection }) => connection) : this.#live('resources', context)
    for (const connection of asked) {
      try {
        return await this.#ask(connection, (client, signal) => client.readResource({ uri }, { signal }))
      } catch (error) {
        if (!(await isAnswer(error))) throw error
      }
    }
    return undefined
  }

  async listPrompts(context: CallContext = {}): Promise<readonly Prompt[]> {
    return (await this.#prompts(context)).map(({ prompt, name }) => ({ ...prompt, name }))
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    context: CallContext = {},
  ): Promise<GetPromptResult | undefined> {
    const found = (await this.#prompts(context)).find((one) => one.name === name)
    if (found === undefined) return undefined
    const params = { name: found.prompt.name, arguments: { ...args } }
    return this.#ask(found.connection, (client, signal) => client.getPrompt(params, { signal }))
  }

  onChange(listener: (what: 'resources' | 'prompts') => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  changed(what: 'resources' | 'prompts'): void {
    for (const listener of this.#listeners) listener(what)
  }

  async #prompts(context: CallContext): Promise<NamedPrompt[]> {
    const taken = new Set<string>()
    const named: NamedPrompt[] = []
    for (const { connection, entry: prompt } of await this.#all<Prompt>('prompts', context)) {
      if (typeof prompt.name !== 'string') continue
      const name = [prompt.name, `${connection.settings.name}__${prompt.name}`].find((one) => !taken.has(one))
      if (name === undefined) continue
      taken.add(name)
      named.push({ connection, prompt, name })
    }
    return named
  }

  async #all<Entry>(
    list: List,
    context: CallContext,
  ): Promise<{ readonly connection: McpConnection; readonly entry: Entry }[]> {
    const lists = await Promise.all(
      this.#live(list === 'prompts' ? 'prompts' : 'resources', context).map(async (connection) => {
        try {
          const entries = await this.#ask(connection, (client, signal) => listAll(client, METHODS[list], list, signal))
          return entries.filter(isObject).map((entry) => ({ connection, entry: entry as Entry }))
        } catch (error) {
          this.#log.debug(
            { server: connection.settings.name, list, reason: String(error) },
            'MCP server did not answer a list request',
          )
          return []
        }
      }),
    )
    return lists.flat()
  }

  #live(capability: 'resources' | 'prompts', context: CallContext): McpConnection[] {
    return [...this.#connections(context)].filter(({ capabilities }) => capabilities?.[capability] !== undefined)
  }

  async #ask<T>(connection: McpConnection, ask: (client: Client, signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    return ask(await connection.client(signal), signal)
  }
}

async function isAnswer(error: unknown): Promise<boolean> {
  const { callFault } = await import('./open-client.ts')
  return callFault(error).kind === 'answered'
}
