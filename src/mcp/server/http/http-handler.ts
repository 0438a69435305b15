import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import {
  classifyInboundRequest,
  isInitializeRequest,
  isJsonContentType,
  localhostAllowedHostnames,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server'
import type { CallContext } from '../../../core/call-context.ts'
import { parseBody, RefusedJsonError } from '../../../core/json/json-depth.ts'
import { writeLog } from '../../../core/log.ts'
import { LIMITS } from '../../../core/snapshot.ts'
import { crowding } from '../../crowding.ts'
import { keepArguments } from '../kept-arguments.ts'
import { callerOf, type ToolServer } from '../tool-server.ts'
import { SessionHandler, type SessionLimits, StatelessHandler } from './sessions.ts'

/** Rejects a request with a status and a JSON-RPC error. */
class Refusal extends Error {
  readonly status: number
  readonly code: number

  constructor(status: number, code: number, message: string) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.code = code
  }

  answer(response: ServerResponse): void {
    const text = JSON.stringify({ jsonrpc: '2.0', error: { code: this.code, message: this.message }, id: null })
    // The rest of an unread body would be taken for the next request.
    const close = this.status === 413 ? { connection: 'close' } : {}
    response.writeHead(this.status, { 'content-type': 'application/json', ...close })
    response.end(text)
  }
}

/** Rejects requests of web pages: DNS rebinding shows in `Host`, cross-site requests in `Origin`. */
class HostGuard {
  readonly #hosts: string[]
  readonly #origins: ReadonlySet<string | undefined>

  constructor(hosts: readonly string[] = [], origins: readonly string[] = []) {
    this.#hosts = [...localhostAllowedHostnames(), ...hosts]
    this.#origins = new Set(origins)
  }

  /** Why the request is rejected; undefined if it is allowed. */
  fault({ host = '', origin }: IncomingHttpHeaders): string | undefined {
    const page = this.#origins.has(origin) ? undefined : origin
    const checks = [validateHostHeader(host, this.#hosts), validateOriginHeader(page, this.#hosts)]
    return checks.find((check) => !check.ok)?.message
  }
}

export interface HttpHandlerOptions extends Partial<SessionLimits> {
  /** Identifies the caller; undefined if its key has ended. By default all callers are local. */
  readonly contextOf?: (request: IncomingMessage) => CallContext | undefined
  /** Host names, without ports, that clients may use besides those of the local machine. */
  readonly hosts?: readonly string[]
  /** Web pages that may send requests besides those of these hosts. */
  readonly origins?: readonly string[]
  /** Called for a request that names a session of another caller, with the tenant of that caller. */
  readonly onForeignSession?: (request: IncomingMessage, tenant: string) => void
}

const MAX_BODY_BYTES = 4 * 1024 * 1024
/** Checking thousands of messages would block the server. */
const MAX_BATCH = 100
export const MAX_SESSIONS = 1_000
const IDLE_MS = 30 * 60_000
const LOCAL: CallContext = Object.freeze({})

/** Serves tools over streamable HTTP. */
export class HttpHandler {
  readonly #server: ToolServer
  readonly #contextOf: (request: IncomingMessage) => CallContext | undefined
  readonly #guard: HostGuard
  readonly #sessions: SessionHandler
  readonly #stateless: StatelessHandler
  readonly #onForeignSession: HttpHandlerOptions['onForeignSession']
  #closed = false

  constructor(server: ToolServer, options: HttpHandlerOptions = {}) {
    const { maxSessions = MAX_SESSIONS, idleMs = IDLE_MS } = options
    this.#server = server
    this.#contextOf = options.contextOf ?? (() => LOCAL)
    this.#guard = new HostGuard(options.hosts, options.origins)
    this.#onForeignSession = options.onForeignSession
    this.#sessions = new SessionHandler(server, { maxSessions, idleMs })
    this.#stateless = new StatelessHandler(server, maxSessions)
  }

  get sessions(): number {
    return this.#sessions.size
  }

  /** Handles a request; pass `parsedBody` if the body was already read. */
  readonly handle = async (request: IncomingMessage, response: ServerResponse, parsedBody?: unknown): Promise<void> => {
    try {
      const fault = this.#closed ? 'The server is closing' : this.#guard.fault(request.headers)
      if (fault !== undefined) throw new Refusal(this.#closed ? 503 : 403, -32_000, fault)
      const body = request.method === 'POST' ? await readMessage(request, parsedBody) : undefined
      if (Array.isArray(body) && body.length > MAX_BATCH) {
        throw new Refusal(400, -32_600, `Invalid request: a batch has at most ${MAX_BATCH} messages`)
      }
      const crowded = body === undefined ? undefined : crowding([body].flat())
      if (crowded !== undefined) throw new Refusal(413, -32_600, `Invalid request: the message has ${crowded}`)
      for (const message of [body].flat()) keepArguments(message)
      await this.#route(request, response, body)
    } catch (error) {
      if (response.headersSent || response.destroyed) return void response.end()
      if (error instanceof Refusal) return error.answer(response)
      writeLog(this.#server.log, 'error', { err: error }, 'MCP request failed')
      new Refusal(500, -32_603, 'Internal error').answer(response)
    }
  }

  /** Ends the sessions, streams and calls of these callers. */
  endCallers(ids: ReadonlySet<string>): void {
    this.#sessions.endCallers(ids)
    this.#stateless.endCallers(ids)
    this.#server.questions.endCallers(ids)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#sessions.close()
    await this.#stateless.close()
    // The ends of streams reach their responses in the same turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
  }

  async #route(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const known = this.#contextOf(request)
    if (known === undefined) throw new Refusal(401, -32_000, 'The API key was revoked or has expired')
    const context = this.#server.contextOf(known)
    const discovers = asksForDiscovery(request)
    if (discovers && this.#server.discovery === undefined) throw new Refusal(404, -32_000, NO_DISCOVERY)
    const { headers } = request
    const id = headers['mcp-session-id'] as string | undefined
    if (id !== undefined && isOlder(request, body)) {
      const session = this.#sessions.find(id, context)
      if (session !== undefined) return this.#sessions.handle(session, request, response, body)
      const owner = this.#sessions.tenantOf(id)
      if (owner !== undefined) this.#onForeignSession?.(request, owner)
      throw new Refusal(404, -32_001, 'The session does not exist or has ended: start again with initialize')
    }
    if (isInitializeRequest(body) && isOlder(request, body)) {
      return this.#sessions.open(request, response, body, callerOf(context, discovers))
    }
    return this.#stateless.handle(request, response, body, callerOf(context, discovers))
  }
}

const NO_DISCOVERY = 'This server has no search of tools: connect without ?discovery=true'

const asksForDiscovery = ({ url = '' }: IncomingMessage): boolean =>
  new URLSearchParams(url.split('?')[1]).get('discovery') === 'true'

async function readMessage(request: IncomingMessage, parsedBody: unknown): Promise<unknown> {
  const type = request.headers['content-type'] ?? ''
  if (type !== 'application/json' && !isJsonContentType(type)) {
    throw new Refusal(415, -32_000, 'Send the message as application/json')
  }
  if (parsedBody !== undefined) return parsedBody
  const bytes = await readBody(request, MAX_BODY_BYTES)
  if (bytes === undefined) throw new Refusal(413, -32_000, `The message is larger than ${MAX_BODY_BYTES} bytes`)
  try {
    return parseBody(bytes, LIMITS.bodyDepth)
  } catch (error) {
    const fault = error instanceof RefusedJsonError ? error.message : 'is not JSON'
    throw new Refusal(400, -32_700, `Parse error: the message ${fault}`)
  }
}

/** Whether the request uses an older protocol version. */
function isOlder({ method = 'GET', headers }: IncomingMessage, body: unknown): boolean {
  const header = (name: string): string | undefined => headers[name] as string | undefined
  const [version, named, name] = [header('mcp-protocol-version'), header('mcp-method'), header('mcp-name')]
  const outcome = classifyInboundRequest({
    httpMethod: method,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(named !== undefined && { mcpMethodHeader: named }),
    ...(name !== undefined && { mcpNameHeader: name }),
    ...(body !== undefined && { body }),
  })
  return outcome.kind === 'legacy'
}

/** Reads the body; undefined if it is too long. Rejects if the client disconnects. */
function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length']) > maxBytes) return resolve(undefined)
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) resolve(undefined)
      else chunks.push(chunk)
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', reject)
    request.on('close', () => reject(new Error('The client disconnected before the request was complete')))
  })
}
