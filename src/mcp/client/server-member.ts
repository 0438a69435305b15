import type { Client } from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import { errorKind, type Log } from '../../core/log.ts'
import { cleanText } from '../stdio/clean-text.ts'
import type { MayQuote } from '../stdio/stdio-transport.ts'
import type { ConnectFailure } from './failures.ts'
import type { FollowedResources } from './followed-resources.ts'
import { listAll, mirroringProblem, type ServerTool, serverTool } from './listed-tool.ts'
import { McpConnection } from './mcp-connection.ts'
import { admitTools, checkTool, type PinStore, pinsOf, type ToolChange } from './pinned-tools.ts'
import type { PrivateConnections } from './private-connections.ts'
import type { McpServerSettings, TokenSupply } from './server-settings.ts'

export interface MemberParts {
  readonly log: Log
  readonly clock: Clock
  readonly pins: PinStore
  readonly followed: FollowedResources
  readonly authProvider?: ((settings: McpServerSettings) => Promise<TokenSupply | undefined>) | undefined
  readonly extend?: ((client: Client) => void) | undefined
  /** Without it, the log holds what the server says. */
  readonly mayQuote?: MayQuote | undefined
}

/** The servers of one configuration, as one of them sees them. */
export interface MemberUser {
  /** Rejects if the tools can't be used. */
  toolsChanged(): Promise<void>
  connected(connection: McpConnection): void
  changed(connection: McpConnection, list: 'resources' | 'prompts'): void
  givenUp(failure: ConnectFailure): void
}

/**
 * One server with its connection and tools. After a reload, the former and the new configuration share those that did not
 * change, and the last one that releases a server closes its connection.
 */
export class ServerMember {
  readonly settings: McpServerSettings
  readonly connection: McpConnection
  readonly #parts: MemberParts
  /** The newest last. */
  readonly #users = new Set<MemberUser>()
  /** Loaded with the first call that may ask its client. */
  #asking: Promise<PrivateConnections> | undefined
  #tools: readonly ServerTool[] | undefined
  #listed: readonly ServerTool[] = []
  #waiting: readonly ToolChange[] = []

  constructor(settings: McpServerSettings, parts: MemberParts) {
    this.settings = settings
    this.#parts = parts
    const { log, clock, followed, authProvider, extend, mayQuote } = parts
    const connection = new McpConnection(settings, {
      log,
      clock,
      onConnected: async (client, signal) => {
        await this.#load(client, signal)
        for (const user of this.#users) user.connected(connection)
        followed.connected(connection)
      },
      onChanged: (list) => {
        if (list === 'tools') void this.#reload()
        else for (const user of this.#users) user.changed(connection, list)
      },
      // Servers that come later need not wait any longer for the names of this one.
      onFailed: () => void this.#tell().catch(() => {}),
      onGivenUp: (failure) => [...this.#users].at(-1)?.givenUp(failure),
      authProvider: authProvider && (() => authProvider(settings)),
      extend: (client) => {
        client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
          followed.updated(connection, params.uri),
        )
        extend?.(client)
      },
      mayQuote,
    })
    this.connection = connection
  }

  /** Undefined until the first connection. */
  get tools(): readonly ServerTool[] | undefined {
    return this.#tools
  }

  /** Whether the first attempt to connect is over. */
  get settled(): boolean {
    return this.#tools !== undefined || this.connection.failure !== undefined
  }

  /** What the server listed last and that waits for approval. */
  get waiting(): readonly ToolChange[] {
    return this.#waiting
  }

  /** Whether a configuration with these settings can use this server as it is. */
  fits(settings: McpServerSettings): boolean {
    // `fetch` does the same if the rest is equal.
    return this.#users.size > 0 && JSON.stringify(this.settings) === JSON.stringify(settings)
  }

  use(user: MemberUser): void {
    this.#users.add(user)
  }

  async release(user: MemberUser): Promise<void> {
    if (!this.#users.delete(user) || this.#users.size > 0) return
    await Promise.all([this.connection.close(), this.#asking?.then((one) => one.close())])
  }

  /** Resolves when the server is connected or given up. A server that waits for its next attempt gets one now. */
  start(): Promise<void> {
    const { state, nextAttemptInMs } = this.connection.standing()
    const isWaiting = state === 'not_reachable' && nextAttemptInMs !== undefined
    return isWaiting ? this.connection.reconnect() : this.connection.start()
  }

  /** The connections for calls during which the server may ask the client. */
  asking(): Promise<PrivateConnections> {
    const { settings } = this
    const { log, clock, authProvider, mayQuote } = this.#parts
    const parts = { log, clock, mayQuote, authProvider: authProvider && (() => authProvider(settings)) }
    this.#asking ??= import('./private-connections.ts').then(
      ({ PrivateConnections }) => new PrivateConnections(settings, parts),
    )
    return this.#asking
  }

  /** Approves what waits. Returns false if what waits by now isn't what the caller has seen. */
  async approve(fingerprints: readonly string[], by: Parameters<PinStore['write']>[2]): Promise<boolean> {
    const seen = new Set(fingerprints)
    if (this.#waiting.some(({ fingerprint = '' }) => !seen.has(fingerprint))) return false
    const { pins } = this.#parts
    const { name } = this.settings
    await pins.write(name, pinsOf(this.#listed, await pins.read(name)), by)
    await this.#reload()
    return true
  }

  /** Checks the tools again after pins changed. */
  async checkPins(): Promise<void> {
    if (this.settings.pin && this.#tools) await this.#reload()
  }

  async #load(client: Client, signal: AbortSignal): Promise<void> {
    if (client.getServerCapabilities()?.tools === undefined) {
      this.#tools ??= []
      return await this.#tell()
    }
    const { name: server, reach } = this.settings
    const mirrors = reach.type !== 'stdio' && client.getProtocolEra?.() === 'modern'
    const entries = await listAll(client, 'tools/list', 'tools', signal, (problem) =>
      this.#parts.log.warn({ server, problem }, 'MCP tools left out'),
    )
    const listed = entries.map((entry) => serverTool(entry, server))
    const tools = new Map<string, ServerTool>()
    for (const tool of listed) {
      const problem = typeof tool === 'string' ? tool : problemOf(tool, tools, mirrors)
      if (problem) this.#parts.log.warn({ server, problem }, 'MCP tool skipped')
      else if (typeof tool !== 'string') tools.set(tool.name, tool)
    }
    const all = [...tools.values()]
    for (const tool of all) {
      signal.throwIfAborted()
      checkTool(tool)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const admitted = await admitTools(all, this.#tools, this.settings, this.#parts)
    this.#tools = admitted.tools
    this.#listed = all
    this.#waiting = admitted.waiting
    await this.#tell()
  }

  async #tell(): Promise<void> {
    await Promise.all([...this.#users].map((user) => user.toolsChanged()))
  }

  async #reload(): Promise<void> {
    const { log, clock, mayQuote } = this.#parts
    const server = this.settings.name
    const timeout = new AbortController()
    const cancel = clock.after(RELOAD_TIMEOUT_MS, () => timeout.abort(new Error('Listing the tools timed out')))
    try {
      await this.#load(await this.connection.client(timeout.signal), timeout.signal)
      log.info({ server, tools: this.#tools?.length }, 'MCP tools changed')
    } catch (error) {
      const reason = mayQuote?.() === false ? errorKind(error) : String(error)
      log.warn({ server, reason }, 'MCP tools changed, but listing them failed')
    } finally {
      cancel()
    }
  }
}

function problemOf(tool: ServerTool, before: ReadonlyMap<string, unknown>, mirrors: boolean): string | undefined {
  if (before.has(tool.name)) return `The name '${tool.name}' is listed twice`
  const problem = mirrors ? mirroringProblem(tool.inputSchema) : undefined
  return problem && `Tool '${tool.name}' cannot be called: ${cleanText(problem).slice(0, MAX_PROBLEM_CHARACTERS)}`
}

const MAX_PROBLEM_CHARACTERS = 300
const RELOAD_TIMEOUT_MS = 30_000
