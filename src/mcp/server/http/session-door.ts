import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import type { CallContext } from '../../../core/call-context.ts'
import { writeLog } from '../../../core/log.ts'
import { callerOf } from '../caller.ts'
import { followChanges, openConnection } from '../open-connection.ts'
import type { ToolServer } from '../tool-server.ts'
import { holderOf, type Session } from './session.ts'
import { type SessionLimits, SessionTable } from './session-table.ts'

/** Clients of the older eras: each has a session, by which it can be told of changes and be asked things. */
export class SessionDoor {
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
