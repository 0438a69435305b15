import type { Client } from '@modelcontextprotocol/client'
import { type AskableClient, type CallContext, NO_ACCOUNTS, type UserAccounts } from '../../core/call-context.ts'
import type { Clock } from '../../core/clock.ts'
import { missingPermission } from '../../core/execution/permit.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import type { HandlerContext } from '../../core/handler.ts'
import type { Log } from '../../core/log.ts'
import type { Params } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { MayQuote } from '../stdio/stdio-transport.ts'
import type { ConnectFailure } from './failures.ts'
import { FollowedResources } from './followed-resources.ts'
import { JoinedTools } from './joined-tools.ts'
import type { ServerTool } from './listed-tool.ts'
import type { McpConnection, ServerCall } from './mcp-connection.ts'
import { asksPeople, type PersonInbox, personClient } from './person-client.ts'
import type { PinStore, ToolChange } from './pinned-tools.ts'
import type { UserTokens } from './private-connections.ts'
import { ServerLibrary } from './server-library.ts'
import { type MemberUser, ServerMember } from './server-member.ts'
import {
  forwardedCapabilities,
  forwardingOf,
  MCP_CONNECT_TIMEOUT,
  MCP_RETRY_ATTEMPTS,
  type McpServerSettings,
  serverIdentity,
  type TokenSupply,
} from './server-settings.ts'
import { MemoryToolNames, type ToolNames } from './tool-names.ts'

interface McpServersParts {
  readonly registry: ToolRegistry
  readonly log: Log
  readonly clock: Clock
  readonly pins: PinStore
  /** Without it, the names of tools are remembered until the process ends. */
  readonly names?: ToolNames | undefined
  /** All servers of the configuration, also those that can't be used. Default: those of the settings. */
  readonly configured?: readonly string[] | undefined
  /** The accounts of users. Without it, servers that need them can't be called. */
  readonly accounts?: UserAccounts | undefined
  readonly authProvider?: (settings: McpServerSettings) => Promise<TokenSupply | undefined>
  /** Where people answer servers. Without it, nobody can be asked. */
  readonly questions?: PersonInbox | undefined
  /** Gets each client before it connects, to add handlers for requests of the server. */
  readonly extend?: (client: Client) => void
  /** Without it, the log holds what servers say. */
  readonly mayQuote?: MayQuote | undefined
}

/** The MCP servers of a configuration and their tools. */
export class McpServers {
  readonly #members = new Map<string, ServerMember>()
  readonly #parts: McpServersParts
  readonly #joined: JoinedTools
  readonly #names: ToolNames
  readonly #user: MemberUser
  #settled: Promise<void> | undefined
  readonly library: ServerLibrary

  /** `former`: the servers of the configuration before. Those that did not change keep their connections and tools. */
  constructor(settings: readonly McpServerSettings[], parts: McpServersParts, former?: McpServers) {
    this.#parts = parts
    const { configured = settings.map(({ name }) => name) } = parts
    const before = former === undefined ? undefined : { names: former.#names, owners: former.#joined.owners }
    this.#names = parts.names ?? before?.names ?? new MemoryToolNames()
    this.#joined = new JoinedTools({ ...parts, configured, names: this.#names, owners: before?.owners })
    const library = new ServerLibrary({
      ...parts,
      configured,
      followed: former?.library.followed ?? new FollowedResources(parts.clock),
      connections: () => [...this.#members.values()].map(({ connection }) => connection),
      isUsable: ({ settings }, context) => this.#isUsable(settings.name, context),
    })
    this.library = library
    this.#user = {
      toolsChanged: () => this.#join(),
      connected: (connection) => library.connected(connection),
      changed: (connection, list) => library.changed(connection, list),
      givenUp: (failure) => this.#givenUp(failure),
    }
    const { log, clock, pins, authProvider, extend, mayQuote } = parts
    // A server outlives the configuration that opened it, and must not keep the rest of that in memory.
    const lasting = { log, clock, pins, authProvider, extend, mayQuote, followed: library.followed }
    const members = former === undefined ? undefined : former.#members
    for (const one of settings) {
      const known = members?.get(one.name)
      const member = known?.fits(one) ? known : new ServerMember(one, lasting)
      member.use(this.#user)
      this.#members.set(one.name, member)
    }
  }

  get names(): string[] {
    return [...this.#members.keys()]
  }

  /** Connects to all servers; resolves when each is connected or given up. */
  async start(): Promise<void> {
    const joined = this.#join().catch((err: unknown) => {
      this.#parts.log.error({ err }, 'The names of MCP tools could not be read')
    })
    const started = Promise.all([joined, ...[...this.#members.values()].map((member) => member.start())])
    this.#settled ??= started.then(() => {})
    await started
  }

  /** Resolves when each server was connected or given up for the first time. */
  get settled(): Promise<void> {
    return this.#settled ?? Promise.resolve()
  }

  /** `name`: that of the tool in the registry. */
  async call(
    server: string,
    tool: string,
    params: Params,
    context: HandlerContext,
    name: string = tool,
  ): Promise<unknown> {
    const definition = this.#joined.find(server, tool)?.raw
    const call: ServerCall = {
      tool,
      arguments: params,
      signal: context.signal,
      onProgress: (progress) => context.report(progress),
      traceparent: context.traceparent,
      ...(definition && { definition }),
    }
    const connection = this.connection(server)
    const { settings } = connection
    const client = asksPeople(settings) ? personClient(settings, this.#parts.questions, name, context) : context.client
    const account = await this.#tokensOf(settings, context)
    const isAsking = client !== undefined && mayAsk(settings, client)
    const asked = isAsking ? client : undefined
    const isPrivate = isAsking || account !== undefined
    const result = isPrivate
      ? (await (this.#members.get(server) as ServerMember).asking()).call(call, asked, context.tenant, account)
      : connection.call(call)
    return this.library.outward(server, await result)
  }

  /** The provider whose accounts of users calls of a server use. */
  account(server: string): string | undefined {
    return accountOf(this.#members.get(server)?.connection.settings)
  }

  async #tokensOf(settings: McpServerSettings, { tenant, rights }: HandlerContext): Promise<UserTokens | undefined> {
    const provider = accountOf(settings)
    const { reach, name } = settings
    if (provider === undefined || reach.type === 'stdio') return undefined
    const { accounts } = this.#parts
    if (accounts === undefined) throw new ToolExecutionError('EXECUTION_ERROR', NO_ACCOUNTS)
    const { UserTokens } = await import('./private-connections.ts')
    const user = { tenant, caller: rights?.caller, user: rights?.user }
    const read = (refused: string | undefined) => accounts.token(provider, user, name, refused)
    return new UserTokens(JSON.stringify(user), reach.fetch, read)
  }

  /** The timeout of the tools of a server that have none of their own. */
  timeoutMs(server: string): number | undefined {
    return this.#members.get(server)?.settings.timeoutMs
  }

  /** Whether a server may ask or tell the client of a call. */
  asks(server: string): boolean {
    const settings = this.#members.get(server)?.connection.settings
    const { logging, elicitation, sampling, roots } = forwardingOf(settings ?? NO_SERVER)
    return logging || elicitation !== false || sampling !== false || roots
  }

  /** Whether people answer a server during a call. */
  asksPeople(server: string): boolean {
    const settings = this.#members.get(server)?.connection.settings
    return settings !== undefined && asksPeople(settings)
  }

  /** How a server is reached and lists a tool. Rejects if it has never listed its tools. */
  async identity(server: string, tool: string): Promise<unknown> {
    const connection = this.connection(server)
    const member = this.#members.get(server) as ServerMember
    if (member.tools === undefined && connection.failure === undefined) {
      await connection.client(AbortSignal.timeout(MCP_CONNECT_TIMEOUT)).catch(() => {})
    }
    if (member.tools === undefined) {
      const message = `MCP server '${server}' has not listed its tools yet: try again when it is connected`
      throw new ToolExecutionError('SERVICE_UNAVAILABLE', message)
    }
    const { inputSchema, outputSchema, annotations } = member.tools.find(({ name }) => name === tool)?.raw ?? {}
    const { title: _title, ...hints } = Object(annotations) as Record<string, unknown>
    return [serverIdentity(connection.settings), inputSchema, outputSchema, hints]
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
    return (await this.#members.get(server)?.approve(fingerprints, by)) ?? false
  }

  /** Checks the tools of pinned servers again after pins changed. */
  async checkPins(): Promise<void> {
    await Promise.all([...this.#members.values()].map((member) => member.checkPins()))
  }

  /** Closes the connections that no other configuration uses. */
  async close(): Promise<void> {
    this.#joined.close()
    await Promise.all([...this.#members.values()].map((member) => member.release(this.#user)))
  }

  /** Whether the caller may use a tool of a server. Those without tools belong to callers that are not limited to some. */
  #isUsable(server: string, context: CallContext): boolean {
    const own = this.#parts.registry
      .definitions(context)
      .filter(({ implementation }) => implementation?.type === 'mcp' && implementation.server === server)
    // Nobody knows yet who may use tools that wait for approval.
    if (own.length === 0) return context.tools === undefined && this.waiting(server).length === 0
    return own.some(
      (tool) => missingPermission(tool, context) === undefined && context.visible?.has(tool.name) !== false,
    )
  }

  #join(): Promise<void> {
    const offered = [...this.#members].map(([server, { tools = [], settled }]) => ({ server, tools, settled }))
    return this.#joined.set(offered)
  }

  #givenUp({ reason, stderr, check, server }: ConnectFailure): void {
    const { log, registry } = this.#parts
    const local = registry.definitions().filter(({ implementation }) => implementation?.type !== 'mcp')
    log.error({ server }, `MCP connection failed after ${MCP_RETRY_ATTEMPTS} attempts`)
    log.error({ server }, `Reason: ${reason}`)
    // A server over HTTP has none.
    if (this.#members.get(server)?.settings.reach.type === 'stdio') {
      log.error({ server }, `MCP Server stderr: ${stderr}`)
    }
    log.error({ server }, `Check: ${check}`)
    const others = [...this.#members].filter(([name, member]) => name !== server && member.tools !== undefined)
    const names = local.map(({ name }) => name).join(', ')
    const left =
      others.length === 0 ? '' : ` and those of other MCP servers: ${others.map(([name]) => name).join(', ')}`
    log.warn({ server }, `Continuing with local tools${left === '' ? ' only' : ''} (${names})${left}`)
  }
}

const accountOf = (settings: McpServerSettings | undefined): string | undefined =>
  settings === undefined || settings.reach.type === 'stdio' ? undefined : settings.reach.account

const NO_SERVER: McpServerSettings = { name: '', reach: { type: 'stdio', command: '', args: [], env: {} } }

function mayAsk(settings: McpServerSettings, { capabilities, logLevel }: AskableClient): boolean {
  const forwarding = forwardingOf(settings)
  const isLogging = forwarding.logging && logLevel !== undefined
  return isLogging || Object.keys(forwardedCapabilities(forwarding, capabilities)).length > 0
}
