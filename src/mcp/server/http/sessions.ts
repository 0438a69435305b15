import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  createMcpHandler,
  type McpHttpHandler,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { CallContext } from '../../../core/call-context.ts'
import type { Clock } from '../../../core/clock.ts'
import { type Log, writeLog } from '../../../core/log.ts'
import { type LibraryHost, MAX_SUBSCRIPTIONS, Subscriptions } from '../library.ts'
import { followChanges, openConnection } from '../open-connection.ts'
import type { Caller, ToolServer } from '../tool-server.ts'

interface Listener extends Holder {
  readonly context: CallContext
  readonly response: ServerResponse
  /** The resources that it follows. */
  readonly followed: Subscriptions | undefined
}

/** Serves stateless requests with the SDK. */
export class StatelessHandler {
  readonly #handler: McpHttpHandler
  readonly #log: Log
  readonly #requests = new WeakMap<Request, { readonly caller: Caller; readonly called: string | undefined }>()
  readonly #connections = new Map<McpServer, Caller>()
  readonly #listeners = new Set<Listener>()
  readonly #maxListeners: number
  readonly #server: ToolServer
  /** The resources whose listeners are told next. */
  readonly #updated = new Set<string>()
  readonly #stop: () => void

  constructor(server: ToolServer, maxListeners: number) {
    this.#maxListeners = maxListeners
    this.#server = server
    this.#log = server.log
    this.#handler = createMcpHandler(
      ({ requestInfo }) => {
        const request = requestInfo && this.#requests.get(requestInfo)
        if (request === undefined) throw new Error('A request to the MCP server has no caller')
        const connection = openConnection(server, request.caller, request.called)
        this.#connections.set(connection, request.caller)
        const before = connection.server.onclose
        connection.server.onclose = () => {
          before?.()
          this.#connections.delete(connection)
        }
        return connection
      },
      {
        // The SDK would reject everyone once one caller has taken all places; see #listen.
        maxSubscriptions: Number.POSITIVE_INFINITY,
        onerror: (error) => writeLog(server.log, 'debug', { err: error }, 'Rejected a request to the MCP server'),
      },
    )
    const { notify } = this.#handler
    const tell = { tools: notify.toolsChanged, resources: notify.resourcesChanged, prompts: notify.promptsChanged }
    this.#stop = server.onChange((what) => tell[what]())
  }

  async handle(request: IncomingMessage, response: ServerResponse, body: unknown, caller: Caller): Promise<void> {
    const { method, params } = Object(body) as { method?: unknown; params?: { name?: unknown } }
    const isListening = method === 'subscriptions/listen'
    const answered = isListening ? await this.#listen(body, caller.context, response) : body
    const called = method === 'tools/call' && typeof params?.name === 'string' ? params.name : undefined
    return answerWith(request, response, answered, caller.context, this.#log, (converted, options) => {
      this.#requests.set(converted, { caller, called })
      return this.#handler.fetch(converted, options)
    })
  }

  /** Follows the resources that a stream asks for. The SDK gets the message with those that the caller may follow. */
  async #follow(body: unknown, context: CallContext, followed: Subscriptions): Promise<unknown> {
    const message = body as { params?: { notifications?: { resourceSubscriptions?: unknown } } }
    const asked = message.params?.notifications?.resourceSubscriptions
    if (!Array.isArray(asked)) return body
    const resourceSubscriptions: string[] = []
    for (const uri of new Set(asked.slice(0, MAX_SUBSCRIPTIONS))) {
      // A stream that follows fewer resources than it asked for is told which.
      if (typeof uri === 'string' && (await this.#add(uri, context, followed))) resourceSubscriptions.push(uri)
    }
    const notifications = { ...message.params?.notifications, resourceSubscriptions }
    return { ...message, params: { ...message.params, notifications } }
  }

  /** Counts and records it like a subscription of an older client. */
  #add(uri: string, context: CallContext, followed: Subscriptions): Promise<boolean> {
    const add = async (): Promise<true> => {
      if (await followed.add(uri, context)) return true
      throw new Error('Cannot subscribe to the resource')
    }
    const { access } = this.#server.library as LibraryHost
    return access('mcp resources/subscribe', { uri }, { ...context, source: 'mcp' }, add).catch(() => false)
  }

  /** The SDK tells all streams that follow a resource, each of which has a listener of its own here. */
  #tellOnce(uri: string): void {
    if (this.#updated.has(uri)) return
    this.#updated.add(uri)
    queueMicrotask(() => {
      this.#updated.delete(uri)
      this.#handler.notify.resourceUpdated(uri)
    })
  }

  /** Limits streams like sessions: if there are too many, one of the holder with the most is closed. */
  async #listen(body: unknown, context: CallContext, response: ServerResponse): Promise<unknown> {
    const { library } = this.#server.library ?? {}
    const followed = library && new Subscriptions(library, (uri) => this.#tellOnce(uri))
    const listener: Listener = { ...holderOf(context), context, response, followed }
    if (this.#listeners.size >= this.#maxListeners) {
      const victim = oldestOfGreediest(this.#listeners, listener)
      if (victim !== undefined) this.#listeners.delete(victim)
      victim?.response.destroy()
    }
    this.#listeners.add(listener)
    response.once('close', () => {
      this.#listeners.delete(listener)
      followed?.close()
    })
    return followed === undefined ? body : this.#follow(body, context, followed)
  }

  endCallers(ids: ReadonlySet<string>): void {
    for (const { context, response } of this.#listeners) if (isOneOf(context, ids)) response.destroy()
    for (const [connection, { context }] of this.#connections) {
      if (isOneOf(context, ids)) connection.close().catch(() => {})
    }
  }

  close(): Promise<void> {
    this.#stop()
    // The SDK closes those of the current protocol version only.
    for (const connection of this.#connections.keys()) connection.close().catch(() => {})
    return this.#handler.close()
  }
}

/** Serves clients of older protocol versions, which have sessions: limited in number and closed when idle. */
export class SessionHandler {
  readonly #server: ToolServer
  readonly #clock: Clock
  readonly #limits: SessionLimits
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>()
  #stopSweep: (() => void) | undefined

  constructor(server: ToolServer, limits: SessionLimits) {
    this.#server = server
    this.#clock = server.clock
    this.#limits = limits
  }

  get size(): number {
    return this.#sessions.size
  }

  /** Finds a session of this caller and updates its rights. */
  find(id: string, context: CallContext): Session | undefined {
    const session = this.#sessions.get(id)
    if (session?.owner !== holderOf(context).owner) return undefined
    session.caller.context = context
    return session
  }

  /** The tenant of any session. */
  tenantOf(id: string): string | undefined {
    return this.#sessions.get(id)?.tenant
  }

  /** Marks a session as used until the response closes. */
  #use(session: Session, response: ServerResponse): void {
    session.open++
    this.#touch(session)
    response.once('close', () => {
      session.open--
      this.#touch(session)
    })
  }

  async open(request: IncomingMessage, response: ServerResponse, body: unknown, caller: Caller): Promise<void> {
    const { context } = caller
    const connection = openConnection(this.#server, caller)
    let session: Session | undefined
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        const lastUsedMs = this.#clock.now()
        session = { id, ...holderOf(context), caller, connection, transport, open: 0, lastUsedMs }
        this.#add(session)
        this.#use(session, response)
      },
    })
    connection.server.oninitialized = () => followChanges(this.#server, connection)
    connection.server.onerror = (error) =>
      writeLog(this.#server.log, 'debug', { err: error }, 'Error in a session of the MCP server')
    await connection.connect(transport)
    const before = connection.server.onclose
    connection.server.onclose = () => {
      before?.()
      if (session !== undefined) this.#forget(session)
    }
    await this.#answer(transport, request, response, body, context)
    if (session === undefined) await connection.close()
  }

  async handle(session: Session, request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    this.#use(session, response)
    await this.#answer(session.transport, request, response, body, session.caller.context)
  }

  endCallers(ids: ReadonlySet<string>): void {
    for (const session of [...this.#sessions.values()]) if (isOneOf(session.caller.context, ids)) this.#end(session)
  }

  close(): void {
    this.#stopSweep?.()
    this.#stopSweep = undefined
    for (const session of [...this.#sessions.values()]) this.#end(session)
  }

  #answer(
    transport: WebStandardStreamableHTTPServerTransport,
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
    context: CallContext,
  ): Promise<void> {
    return answerWith(request, response, body, context, this.#server.log, (converted, options) =>
      transport.handleRequest(converted, options),
    )
  }

  /** If there are too many sessions, closes one of the holder with the most. */
  #add(session: Session): void {
    if (this.#sessions.size >= this.#limits.maxSessions) {
      const victim = oldestOfGreediest(this.#sessions.values(), session)
      if (victim !== undefined) this.#end(victim)
    }
    this.#sessions.set(session.id, session)
    this.#sweepLater()
  }

  #end(session: Session): void {
    this.#forget(session)
    session.connection.close().catch(() => {})
  }

  #forget(session: Session): void {
    if (this.#sessions.get(session.id) !== session) return
    this.#sessions.delete(session.id)
  }

  #touch(session: Session): void {
    session.lastUsedMs = this.#clock.now()
    if (!this.#sessions.delete(session.id)) return
    this.#sessions.set(session.id, session)
  }

  #sweepLater(): void {
    this.#stopSweep ??= this.#clock.after(this.#limits.idleMs / 2, () => {
      this.#stopSweep = undefined
      const now = this.#clock.now()
      for (const session of [...this.#sessions.values()]) {
        if (session.open === 0 && now - session.lastUsedMs >= this.#limits.idleMs) this.#end(session)
      }
      if (this.#sessions.size > 0) this.#sweepLater()
    })
  }
}

type Fetch = (request: Request, options: { parsedBody?: unknown }) => Promise<Response>

/** Answers a request with the response of the SDK. A client that doesn't read its stream is disconnected. */
async function answerWith(
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  { tenant, caller }: CallContext,
  log: Log,
  fetch: Fetch,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => response.writableFinished || gone.abort())
  if (response.destroyed) gone.abort()
  const answered = await fetch(webRequest(request, gone.signal), body === undefined ? {} : { parsedBody: body })
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  // The first event may be long in coming.
  if (answered.body !== null) response.flushHeaders()
  const stream = boundedStream(answered, (unread_bytes) => {
    const session = String(request.headers['mcp-session-id'] ?? '').slice(0, 8)
    const fields = { tenant, caller, ...(session !== '' && { session }), unread_bytes }
    writeLog(log, 'warn', fields, "An MCP client doesn't read its stream: the stream is closed")
    response.destroy()
  })
  // The pipeline alone adds seven listeners, and Node warns about more than ten.
  response.setMaxListeners(20)
  // The client may leave at any time, and the SDK cancels streams.
  await pipeline(stream === null ? Readable.from([]) : Readable.fromWeb(stream), response).catch(() => response.end())
}

/** The SDK gets the body beside the request, parsed. */
function webRequest({ method = 'GET', url = '/', headers }: IncomingMessage, signal: AbortSignal): Request {
  const lines = Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one]))
  const init = { method, headers: lines as [string, string][], signal }
  return new Request(`http://${headers.host ?? 'localhost'}${url}`, init)
}

const MAX_UNREAD_BYTES = 1024 * 1024

/**
 * Ends an event stream if the client leaves more than 1 MB unread and a notification follows. The SDK would store any
 * number. Results don't count: a call has only one.
 */
function boundedStream(
  { body, headers }: Response,
  overflow: (unreadBytes: number) => void,
): ReadableStream<Uint8Array> | null {
  if (body === null || !headers.get('content-type')?.startsWith('text/event-stream')) return body
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader()
  const move = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const unread = MAX_UNREAD_BYTES - (controller.desiredSize ?? 0)
      if (unread > MAX_UNREAD_BYTES && isNotification(next.value)) {
        overflow(unread)
        await reader.cancel()
        break
      }
      controller.enqueue(next.value)
    }
    controller.close()
  }
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => void move(controller).catch((error: unknown) => controller.error(error)),
      cancel: (reason) => reader.cancel(reason),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
  )
}

/** Whether an event of a stream is a notification. Comments, which keep the connection open, count as one. */
function isNotification(event: Uint8Array): boolean {
  const data = /^data: (.*)$/m.exec(Buffer.from(event).toString())?.[1]
  return data === undefined || 'method' in Object(JSON.parse(data))
}

interface Session extends Holder {
  readonly id: string
  readonly caller: Caller
  readonly connection: McpServer
  readonly transport: WebStandardStreamableHTTPServerTransport
  open: number
  lastUsedMs: number
}

interface Holder {
  readonly tenant: string
  /** Tenant and key. No other caller may use the session, even with its id. */
  readonly owner: string
}

const holderOf = ({ tenant = '', caller = '' }: CallContext): Holder => ({
  tenant,
  owner: JSON.stringify([tenant, caller]),
})

const isOneOf = ({ caller }: CallContext, ids: ReadonlySet<string>): boolean => caller !== undefined && ids.has(caller)

export interface SessionLimits {
  readonly maxSessions: number
  readonly idleMs: number
}

/**
 * The entry to close for `newcomer`: the oldest of the key with the most entries, within the tenant with the most. Ties
 * go against the newcomer.
 */
function oldestOfGreediest<Entry extends Holder>(entries: Iterable<Entry>, newcomer: Holder): Entry | undefined {
  const all = [...entries]
  const tenant = most(all, newcomer.tenant, (entry) => entry.tenant)
  const ofTenant = all.filter((entry) => entry.tenant === tenant)
  const owner = most(ofTenant, newcomer.owner, (entry) => entry.owner)
  return ofTenant.find((entry) => entry.owner === owner)
}

/** The most frequent name; `preferred` in a tie. */
function most<Entry>(entries: readonly Entry[], preferred: string, nameOf: (entry: Entry) => string): string {
  const counts = new Map<string, number>()
  for (const entry of entries) counts.set(nameOf(entry), (counts.get(nameOf(entry)) ?? 0) + 1)
  let best = preferred
  for (const [name, count] of counts) if (count > (counts.get(best) ?? 0)) best = name
  return best
}
