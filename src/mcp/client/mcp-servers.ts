import type { Client } from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import type { HandlerContext } from '../../core/handler.ts'
import type { Log } from '../../core/log.ts'
import type { Params } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'
import { cleanText } from '../stdio/clean-text.ts'
import type { ConnectFailure } from './connect-failure.ts'
import { JoinedTools } from './joined-tools.ts'
import { listAll } from './list-all.ts'
import { type ServerTool, serverTool } from './listed-tool.ts'
import { McpConnection } from './mcp-connection.ts'
import { mirroringProblem } from './mirrored-params.ts'
import type { PinStore } from './pin-store.ts'
import { PinnedTools } from './pinned-tools.ts'
import { MCP_RETRY_ATTEMPTS } from './retry-plan.ts'
import { ServerLibrary } from './server-library.ts'
import type { McpServerSettings } from './server-settings.ts'
import type { TokenSupply } from './token-supply.ts'

export interface McpServersParts {
  readonly registry: ToolRegistry
  readonly log: Log
  readonly clock: Clock
  /** Where it is kept which definitions were approved. */
  readonly pins: PinStore
  /** Where the tokens for a server come from, where it may want some. */
  readonly authProvider?: (settings: McpServerSettings) => Promise<TokenSupply | undefined>
  /** Gets each new client before it connects, to let it do what tools of Toolyard do not: answer what a server asks. */
  readonly extend?: (client: Client) => void
}

interface Member {
  readonly connection: McpConnection
  readonly pinned: PinnedTools
  /** Undefined until the server has been connected once. */
  tools: readonly ServerTool[] | undefined
}

/** The MCP servers of a configuration: connected beside everything else, their tools among the others. */
export class McpServers {
  readonly #members = new Map<string, Member>()
  readonly #parts: McpServersParts
  readonly #joined: JoinedTools
  /** Their resources and prompts. */
  readonly library: ServerLibrary

  constructor(settings: readonly McpServerSettings[], parts: McpServersParts) {
    this.#parts = parts
    this.#joined = new JoinedTools(parts.registry, parts.log)
    this.library = new ServerLibrary(() => [...this.#members.values()].map(({ connection }) => connection), parts.log)
    for (const one of settings) this.#members.set(one.name, this.#member(one))
  }

  get names(): string[] {
    return [...this.#members.keys()]
  }

  /** Begins to connect to all of them. The promise is for those who want to wait until each is there or given up. */
  async start(): Promise<void> {
    await Promise.all([...this.#members.values()].map(({ connection }) => connection.start()))
  }

  /** Calls a tool of a server, over the connection that there is now, or that is made now. */
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

  /** The line to one server. */
  connection(server: string): McpConnection {
    const member = this.#members.get(server)
    if (member !== undefined) return member.connection
    const known = this.names.join(', ') || 'none'
    throw new ToolExecutionError('EXECUTION_ERROR', `MCP server '${server}' is not configured (known: ${known})`)
  }

  /** What a server offers, as far as it was ever connected. */
  tools(server: string): readonly ServerTool[] {
    return this.#members.get(server)?.tools ?? []
  }

  /** Looks again at the tools of pinned servers: what is approved has changed. */
  async checkPins(): Promise<void> {
    const pinned = [...this.#members.values()].filter(({ connection, tools }) => connection.settings.pin && tools)
    await Promise.all(pinned.map((member) => this.#reload(member)))
  }

  /** Takes the tools out and ends the servers. */
  async close(): Promise<void> {
    this.#joined.close()
    await Promise.all([...this.#members.values()].map(({ connection }) => connection.close()))
  }

  #member(settings: McpServerSettings): Member {
    const { log, clock, pins, authProvider, extend } = this.#parts
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
    const member: Member = { connection, pinned: new PinnedTools(settings, pins, log), tools: undefined }
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
      if (problem) this.#parts.log.warn({ server, problem }, 'MCP tool left out')
      else if (typeof tool !== 'string') tools.set(tool.name, tool)
    }
    member.tools = await member.pinned.admit([...tools.values()], member.tools)
    this.#join()
  }

  async #reload(member: Member): Promise<void> {
    const { log, clock } = this.#parts
    const server = member.connection.settings.name
    const late = new AbortController()
    const callOff = clock.after(RELOAD_TIMEOUT, () => late.abort(new Error('it took too long')))
    try {
      await this.#load(member, await member.connection.client(late.signal), late.signal)
      log.info({ server, tools: member.tools?.length }, 'MCP tools have changed')
    } catch (error) {
      log.warn({ server, reason: String(error) }, 'MCP tools have changed and could not be listed')
    } finally {
      callOff()
    }
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
  if (before.has(tool.name)) return `The name '${tool.name}' comes twice`
  const problem = mirrors ? mirroringProblem(tool.inputSchema) : undefined
  return problem && `Tool '${tool.name}' cannot be called: ${cleanText(problem).slice(0, LONGEST_PROBLEM)}`
}

const LONGEST_PROBLEM = 300
const RELOAD_TIMEOUT = 30_000
