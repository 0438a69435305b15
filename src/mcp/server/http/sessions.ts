import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, type McpHttpHandler, type McpServer } from '@modelcontextprotocol/server'
import type { CallContext } from '../../../core/call-context.ts'
import type { Cancellation } from '../../../core/cancellation.ts'
import type { Clock } from '../../../core/clock.ts'
import { writeLog } from '../../../core/log.ts'
import { followChanges, openConnection } from '../open-connection.ts'
import { type Caller, callerOf, type ToolServer } from '../tool-server.ts'

/** A stream of a client that listens for changes. */
interface Listener extends Holder {
  readonly response: ServerResponse
}

/** The SDK's way of serving requests that stand for themselves, each with the caller it came from. */
export class StatelessHandler {
  readonly #handler: McpHttpHandler
  readonly #callers = new WeakMap<Request, Caller>()
  /** The oldest comes first. */
  readonly #listeners = new Set<Listener>()
  readonly #maxListeners: number
  readonly #stop: () => void

  constructor(server: ToolServer, maxListeners: number) {
    this.#maxListeners = maxListeners
    this.#handler = createMcpHandler(
      ({ requestInfo }) => {
        const caller = requestInfo && this.#callers.get(requestInfo)
        if (caller === undefined) throw new Error('A request to the MCP server has no caller')
        return openConnection(server, caller)
      },
      {
        // The SDK would refuse everybody once one caller has taken all places; see #listen.
        maxSubscriptions: Number.POSITIVE_INFINITY,
        onerror: (error) => writeLog(server.log, 'debug', { err: error }, 'A request to the MCP server was refused'),
      },
    )
    const { notify } = this.#handler
    const tell = { tools: notify.toolsChanged, resources: notify.resourcesChanged, prompts: notify.promptsChanged }
    this.#stop = server.onChange((what) => tell[what]())
  }

  handle(request: IncomingMessage, response: ServerResponse, body: unknown, caller: Caller): Promise<void> {
    if (Object(body).method === 'subscriptions/listen') this.#listen({ ...holderOf(caller.context), response })
    const answer = toNodeHandler({
      fetch: (converted, options) => {
        this.#callers.set(converted, caller)
        return this.#handler.fetch(converted, options)
      },
    })
    // The SDK's own type for a request has no `undefined` where Node's has.
    return answer(request as Parameters<typeof answer>[0], response, body)
  }

  /** Bounds the streams as the table bounds sessions: if there are too many, one of the greediest holder ends. */
  #listen(listener: Listener): void {
    if (this.#listeners.size >= this.#maxListeners) {
      const victim = oldestOfGreediest(this.#listeners, listener)
      if (victim !== undefined) this.#listeners.delete(victim)
      victim?.response.destroy()
    }
    this.#listeners.add(listener)
    listener.response.once('close', () => this.#listeners.delete(listener))
  }

  /** Ends the streams of those who listen for changes, and cancels what is running. */
  close(): Promise<void> {
    this.#stop()
    return this.#handler.close()
  }
}

/** Clients of the older eras: each has a session, by which it can be told of changes and be asked things. */
export class SessionHandler {
  readonly #server: ToolServer
  readonly #table: SessionTable

  constructor(server: ToolServer, limits: SessionLimits) {
    this.#server = server
    this.#table = new SessionTable(server.clock, limits)
  }

  get size(): number {
    return this.#table.size
  }

  /** The session of that id, where it belongs to this caller; its rights are from now on what they are now. */
  find(id: string, context: CallContext): Session | undefined {
    const session = this.#table.find(id, holderOf(context).owner)
    if (session !== undefined) session.caller.context = context
    return session
  }

  /** Notes that a session is in use for as long as the response is open. */
  use(session: Session, response: ServerResponse): void {
    response.once('close', this.#table.use(session))
  }

  /** Opens a session with its first request. */
  async open(request: IncomingMessage, response: ServerResponse, body: unknown, context: CallContext): Promise<void> {
    const caller = callerOf(context)
    const connection = openConnection(this.#server, caller)
    const calls: Session['calls'] = new Map()
    let session: Session | undefined
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        const lastUsedMs = this.#server.clock.now()
        session = { id, ...holderOf(context), caller, connection, transport, calls, open: 0, lastUsedMs }
        this.#table.add(session)
        this.use(session, response)
      },
    })
    connection.server.oninitialized = () => followChanges(this.#server, connection)
    connection.server.onerror = (error) =>
      writeLog(this.#server.log, 'debug', { err: error }, 'Trouble in a session of the MCP server')
    await connection.connect(transport)
    connection.server.onclose = () => {
      if (session !== undefined) this.#table.forget(session)
    }
    await transport.handleRequest(request, response, body)
    if (session === undefined) await connection.close()
  }

  async handle(session: Session, request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    this.use(session, response)
    cancelNamed(session, body)
    await session.transport.handleRequest(request, response, body)
  }

  close(): void {
    this.#table.close()
  }
}

/** The SDK knows nothing of the calls that were answered without it. */
function cancelNamed({ calls }: Session, body: unknown): void {
  const { method, params } = Object(body) as { method?: unknown; params?: { requestId?: unknown } }
  if (method !== 'notifications/cancelled') return
  calls.get(params?.requestId as string | number)?.abort(undefined)
}

/** A client of an older era, which the server keeps in mind between its requests. */
export interface Session extends Holder {
  readonly id: string
  readonly caller: Caller
  readonly connection: McpServer
  readonly transport: NodeStreamableHTTPServerTransport
  /** Calls that run outside the SDK, by the id of their request. */
  readonly calls: Map<string | number, Cancellation>
  /** Requests and streams that are open. */
  open: number
  lastUsedMs: number
}

/** The key that a session or a stream belongs to, and its tenant. */
export interface Holder {
  readonly tenant: string
  /** Names tenant and key: nobody else may use the session, even with its id. */
  readonly owner: string
}

/** The holder of what a request opens. Without keys there is only one. */
export const holderOf = ({ tenant = '', caller = '' }: CallContext): Holder => ({
  tenant,
  owner: JSON.stringify([tenant, caller]),
})

export interface SessionLimits {
  readonly maxSessions: number
  readonly idleMs: number
}

/** The sessions of an HTTP server: bounded in number, and ended when nobody has used them for long. */
export class SessionTable {
  /** The one that was used longest ago comes first. */
  readonly #sessions = new Map<string, Session>()
  readonly #clock: Clock
  readonly #limits: SessionLimits
  #stopSweep: (() => void) | undefined = undefined

  constructor(clock: Clock, limits: SessionLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  get size(): number {
    return this.#sessions.size
  }

  /** Adds a session. If the table is full, one of the greediest holder ends. */
  add(session: Session): void {
    if (this.#sessions.size >= this.#limits.maxSessions) {
      const victim = oldestOfGreediest(this.#sessions.values(), session)
      if (victim !== undefined) this.end(victim)
    }
    this.#sessions.set(session.id, session)
    this.#sweepLater()
  }

  /** The session of that id, where it belongs to this owner. */
  find(id: string, owner: string): Session | undefined {
    const session = this.#sessions.get(id)
    return session?.owner === owner ? session : undefined
  }

  /** Notes that a request of the session has come; gives what to do when it is over. */
  use(session: Session): () => void {
    session.open++
    this.#touch(session)
    return () => {
      session.open--
      this.#touch(session)
    }
  }

  /** Ends a session: its streams, and the calls that run for it. */
  end(session: Session): void {
    this.forget(session)
    session.connection.close().catch(() => {})
  }

  /** Lets go of a session that has ended. */
  forget(session: Session): void {
    if (this.#sessions.get(session.id) !== session) return
    this.#sessions.delete(session.id)
    for (const cancellation of session.calls.values()) cancellation.abort(undefined)
  }

  close(): void {
    this.#stopSweep?.()
    this.#stopSweep = undefined
    for (const session of [...this.#sessions.values()]) this.end(session)
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
        if (session.open === 0 && now - session.lastUsedMs >= this.#limits.idleMs) this.end(session)
      }
      if (this.#sessions.size > 0) this.#sweepLater()
    })
  }
}

/**
 * The entry that makes room for one of `newcomer`: the first one of the key with the most entries, within the tenant
 * with the most. Of equals it is the newcomer's own, so that nobody gains a place from somebody with as few.
 */
export function oldestOfGreediest<Entry extends Holder>(entries: Iterable<Entry>, newcomer: Holder): Entry | undefined {
  const all = [...entries]
  const tenant = most(all, newcomer.tenant, (entry) => entry.tenant)
  const ofTenant = all.filter((entry) => entry.tenant === tenant)
  const owner = most(ofTenant, newcomer.owner, (entry) => entry.owner)
  return ofTenant.find((entry) => entry.owner === owner)
}

/** The most frequent name; `preferred` if it is among several. */
function most<Entry>(entries: readonly Entry[], preferred: string, nameOf: (entry: Entry) => string): string {
  const counts = new Map<string, number>()
  for (const entry of entries) counts.set(nameOf(entry), (counts.get(nameOf(entry)) ?? 0) + 1)
  let best = preferred
  for (const [name, count] of counts) if (count > (counts.get(best) ?? 0)) best = name
  return best
}
