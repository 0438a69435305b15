import { type Client, LOG_LEVEL_META_KEY, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client'
import type { AskableClient } from '../../core/call-context.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { cleanText } from '../stdio/clean-text.ts'
import { type ConnectionParts, McpConnection, type ServerCall } from './mcp-connection.ts'
import { forwardedCapabilities, forwardingOf, type McpServerSettings, type TokenSupply } from './server-settings.ts'

/** One client is served at a time, and later only the same one. */
interface PrivateConnection {
  readonly key: string
  readonly tenant: string
  readonly caller: string | undefined
  readonly connection: McpConnection
  call: RunningCall | undefined
  calls: number
  /** The level that the server was told. */
  logLevel: string | undefined
  cancelEnd: () => void
}

interface RunningCall {
  readonly client: AskableClient
  readonly report: (notice: unknown) => void
  questions: number
}

const MAX_CONNECTIONS = 16
const MAX_PER_TENANT = 8
const MAX_PER_CALLER = 4
const IDLE_MS = 5 * 60_000
const MAX_QUESTIONS = 20
const MAX_QUESTION_CHARACTERS = 1024 * 1024
const MAX_MESSAGE_CHARACTERS = 8_192
const MAX_LOG_CHARACTERS = 65_536

const QUESTIONS = {
  elicitation: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
} as const

type PrivateParts = Pick<ConnectionParts, 'log' | 'clock' | 'authProvider' | 'mayQuote'>

/**
 * Connections to a server for calls during which it may ask or tell the client. A shared connection doesn't say which call a
 * message belongs to, so each of these runs one call at a time, and only for one client.
 */
export class PrivateConnections {
  readonly #settings: McpServerSettings
  readonly #parts: PrivateParts
  /** Least recently used first. */
  readonly #open = new Set<PrivateConnection>()

  constructor(settings: McpServerSettings, parts: PrivateParts) {
    this.#settings = settings
    this.#parts = parts
  }

  get size(): number {
    return this.#open.size
  }

  async call(
    call: ServerCall,
    /** Undefined: nobody can be asked. */
    client: AskableClient | undefined,
    tenant: string,
    account?: UserTokens,
  ): Promise<unknown> {
    const asked = client ?? NO_CLIENT
    const used = this.#take(asked, tenant, account)
    const running = { client: asked, report: call.onProgress, questions: 0 }
    used.call = running
    used.calls++
    try {
      return await used.connection.call({ ...call, meta: await this.#askForLogs(used, asked, call.signal) })
    } finally {
      if (--used.calls === 0) {
        used.call = undefined
        this.#endLater(used)
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((one) => this.#end(one)))
  }

  #take(client: AskableClient, tenant: string, account: UserTokens | undefined): PrivateConnection {
    const caller = account?.user ?? client.caller
    const capabilities = forwardedCapabilities(forwardingOf(this.#settings), client.capabilities)
    const key = JSON.stringify([client.id, capabilities, account?.user ?? null])
    const idle = [...this.#open].filter(({ call }) => call === undefined)
    // Calls of one user without a client to ask need no connections of their own.
    const mayShare = account !== undefined && client.id === NO_CLIENT.id
    const known = (mayShare ? [...this.#open] : idle).find((one) => one.key === key)
    if (known !== undefined) {
      known.cancelEnd()
      this.#open.delete(known)
      this.#open.add(known)
      return known
    }
    const isOfTenant = (one: PrivateConnection) => one.tenant === tenant
    const isOfCaller = (one: PrivateConnection) => isOfTenant(one) && one.caller === caller
    // The narrowest share that is used up has to give a place.
    const full = (
      [
        [isOfCaller, MAX_PER_CALLER],
        [isOfTenant, MAX_PER_TENANT],
        [() => true, MAX_CONNECTIONS],
      ] as const
    ).find(([isOf, most]) => [...this.#open].filter(isOf).length >= most)
    const victim = full && idle.find(full[0])
    if (full !== undefined && victim === undefined) {
      const message = `MCP server '${this.#settings.name}' has too many calls that need a connection of their own: try again later`
      throw new ToolExecutionError('SERVICE_UNAVAILABLE', message, {}, { repeat: { neverLeft: true } })
    }
    if (victim !== undefined) void this.#end(victim)
    const opened: PrivateConnection = {
      key,
      tenant,
      caller,
      connection: new McpConnection(
        { ...(account === undefined ? this.#settings : withoutToken(this.#settings)), capabilities },
        {
          ...this.#parts,
          ...(account !== undefined && { authProvider: async () => account }),
          onConnected: async () => {},
          onChanged: () => {},
          onGivenUp: () => {},
          extend: (made) => this.#listen(made, Object.keys(capabilities), opened),
        },
      ),
      call: undefined,
      calls: 0,
      logLevel: undefined,
      cancelEnd: () => {},
    }
    this.#open.add(opened)
    return opened
  }

  #listen(made: Client, capabilities: readonly string[], to: PrivateConnection): void {
    to.logLevel = undefined
    const ask = (method: string) => async (request: { readonly params?: unknown }, context?: unknown) => {
      const { call } = to
      if (call === undefined) throw refusal('there is no call in progress')
      if (++call.questions > MAX_QUESTIONS) throw refusal(`a call may ask ${MAX_QUESTIONS} times`)
      const params = isObject(request.params) ? request.params : {}
      if (JSON.stringify(params).length > MAX_QUESTION_CHARACTERS) throw refusal('the request is larger than 1 MB')
      if (params.mode === 'url' && !isWebAddress(params.url)) throw refusal('its url is not an http or https address')
      const { signal } = (context as { readonly mcpReq?: { readonly signal?: AbortSignal } } | undefined)?.mcpReq ?? {}
      return (await call.client.ask({ method, params: this.#shown(params), signal })) as never
    }
    for (const name of capabilities) {
      const method = QUESTIONS[name as keyof typeof QUESTIONS]
      made.setRequestHandler(method, ask(method))
    }
    if (!forwardingOf(this.#settings).logging) return
    made.setNotificationHandler('notifications/message', ({ params }) => {
      if (JSON.stringify(params).length <= MAX_LOG_CHARACTERS) to.call?.report(params)
    })
  }

  /** Names the server, which must not speak for Toolyard, and asks for nothing that other servers said. */
  #shown({ message, includeContext: _context, ...params }: Readonly<Record<string, unknown>>): Record<string, unknown> {
    if (typeof message !== 'string') return params
    const said = cleanText(message).slice(0, MAX_MESSAGE_CHARACTERS)
    return { ...params, message: `MCP server '${this.#settings.name}' asks: ${said}` }
  }

  /** Tells the server from which level on it may log: an older one once, a newer one with each request. */
  async #askForLogs(
    used: PrivateConnection,
    { logLevel }: AskableClient,
    signal: AbortSignal,
  ): Promise<ServerCall['meta']> {
    if (!forwardingOf(this.#settings).logging || logLevel === undefined) return undefined
    const client = await used.connection.client(signal)
    if (client.getServerCapabilities()?.logging === undefined) return undefined
    if (client.getProtocolEra() !== 'legacy') return { [LOG_LEVEL_META_KEY]: logLevel }
    if (used.logLevel !== logLevel) await client.setLoggingLevel(logLevel as 'info', { signal })
    used.logLevel = logLevel
    return undefined
  }

  #endLater(used: PrivateConnection): void {
    used.cancelEnd = this.#parts.clock.after(IDLE_MS, () => void this.#end(used))
  }

  async #end(one: PrivateConnection): Promise<void> {
    one.cancelEnd()
    this.#open.delete(one)
    await one.connection.close().catch(() => {})
  }
}

/** A client may open any other one with whatever program is installed for it. */
function isWebAddress(url: unknown): boolean {
  const { protocol, username } = (typeof url === 'string' && URL.parse(url)) || {}
  return username === '' && (protocol === 'https:' || protocol === 'http:')
}

/** Stands for the client of a call that has none. */
const NO_CLIENT: AskableClient = {
  id: '',
  capabilities: {},
  ask: () => Promise.reject(new Error('There is no client to ask')),
}

/** The tokens of the user of a call, for the requests of one connection. */
export class UserTokens implements TokenSupply {
  /** Equal for calls of one user only. */
  readonly user: string
  readonly fetch: TokenSupply['fetch']
  readonly #read: (refused: string | undefined) => Promise<string>
  #last: string | undefined
  #refused: string | undefined

  constructor(user: string, fetch: TokenSupply['fetch'], read: (refused: string | undefined) => Promise<string>) {
    this.user = user
    this.fetch = fetch
    this.#read = read
  }

  async token(): Promise<string> {
    this.#last = await this.#read(this.#refused)
    return this.#last
  }

  async onUnauthorized(): Promise<void> {
    this.#refused = this.#last
  }
}

/** A configured token is for listing the tools: the SDK would send it instead of the user's. */
function withoutToken(settings: McpServerSettings): McpServerSettings {
  const { reach } = settings
  if (reach.type === 'stdio') return settings
  const headers = Object.entries(reach.headers).filter(([name]) => name.toLowerCase() !== 'authorization')
  return { ...settings, reach: { ...reach, headers: Object.fromEntries(headers) } }
}

const refusal = (reason: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidRequest, `The client can't be asked: ${reason}`)
