import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import {
  BAGGAGE_META_KEY,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  classifyInboundRequest,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  TRACEPARENT_META_KEY,
  TRACESTATE_META_KEY,
} from '@modelcontextprotocol/server'
import { Cancellation } from '../../../core/cancellation.ts'
import { writeLog } from '../../../core/log.ts'
import { isObject } from '../../../core/schema/schema-keywords.ts'
import type { Caller, LogLevel, Notice, ProgressToken, ToolServer } from '../tool-server.ts'
import type { Session } from './sessions.ts'

const EVENT_STREAM = [
  ...['content-type', 'text/event-stream', 'cache-control', 'no-cache, no-transform'],
  ...['connection', 'keep-alive', 'x-accel-buffering', 'no'],
]

/** Notifications are dropped if a client doesn't read. */
const MAX_PENDING_BYTES = 1024 * 1024

/** The response to one request: JSON, or a stream of events if there are notifications. */
class Reply {
  readonly #response: ServerResponse
  readonly #id: string
  readonly #sessionHeader: readonly string[]
  #streams = false

  constructor(response: ServerResponse, id: string | number, sessionId: string | undefined) {
    this.#response = response
    this.#id = JSON.stringify(id)
    this.#sessionHeader = sessionId === undefined ? [] : ['mcp-session-id', sessionId]
  }

  notify(notice: Notice): void {
    const { writableEnded, destroyed, writableLength } = this.#response
    if (writableEnded || destroyed || writableLength > MAX_PENDING_BYTES) return
    if (!this.#streams) {
      this.#streams = true
      this.#response.writeHead(200, [...EVENT_STREAM, ...this.#sessionHeader])
    }
    this.#response.write(event(JSON.stringify({ jsonrpc: '2.0', ...notice })))
  }

  result(json: string): void {
    this.#end(`{"result":${json},"jsonrpc":"2.0","id":${this.#id}}`)
  }

  error(code: number, message: string, data: unknown): void {
    this.#end(`{"jsonrpc":"2.0","id":${this.#id},"error":${JSON.stringify({ code, message, data })}}`)
  }

  /** Ends without a result, for a cancelled request. */
  drop(): void {
    if (!this.#streams) this.#response.writeHead(202, [...this.#sessionHeader])
    this.#response.end()
  }

  #end(text: string): void {
    if (this.#streams) {
      this.#response.end(event(text))
      return
    }
    const length = String(Buffer.byteLength(text))
    const headers = ['content-type', 'application/json', 'content-length', length, ...this.#sessionHeader]
    this.#response.writeHead(200, headers)
    this.#response.end(text)
  }
}

const event = (text: string): string => `event: message\ndata: ${text}\n\n`

/** Answers plain requests without the SDK's conversions and validations. */
export class PlainAnswers {
  readonly #server: ToolServer
  readonly #running = new Set<Cancellation>()
  readonly #resultTail: string
  readonly #listTail: string

  constructor(server: ToolServer) {
    this.#server = server
    // Required in every stateless result.
    const meta = JSON.stringify({ [SERVER_INFO_META_KEY]: server.info })
    this.#resultTail = `"resultType":"complete","_meta":${meta}}`
    this.#listTail = `"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":${meta}}`
  }

  async answer(request: PlainRequest, response: ServerResponse, caller: Caller, session?: Session): Promise<void> {
    const reply = new Reply(response, request.id, session?.id)
    try {
      if (request.method === 'tools/list') {
        const { json } = this.#server.pages.page(caller.context, request.params.cursor as string | undefined)
        reply.result(request.stateless ? `{${json},${this.#listTail}` : `{${json}}`)
      } else {
        await this.#call(request, response, reply, caller, session)
      }
    } catch (error) {
      if (error instanceof ProtocolError) return reply.error(error.code, error.message, error.data)
      writeLog(this.#server.log, 'error', { err: error }, 'MCP request failed')
      reply.error(ProtocolErrorCode.InternalError, 'Internal error', undefined)
    }
  }

  close(): void {
    for (const cancellation of this.#running) cancellation.abort(undefined)
  }

  async #call(
    request: PlainRequest,
    response: ServerResponse,
    reply: Reply,
    caller: Caller,
    session: Session | undefined,
  ): Promise<void> {
    const cancellation = new Cancellation()
    this.#running.add(cancellation)
    // A session outlives its connections and cancels with a message. Without one, disconnecting cancels.
    if (session === undefined) response.once('close', () => cancellation.abort(undefined))
    else session.calls.set(request.id, cancellation)
    try {
      const result = await this.#server.call({
        name: request.params.name as string,
        args: request.params.arguments,
        caller,
        signal: cancellation,
        progressToken: request.progressToken,
        logLevel: request.logLevel ?? caller.logLevel,
        meta: request.params._meta,
        notify: (notice) => reply.notify(notice),
      })
      if (cancellation.aborted) reply.drop()
      else reply.result(request.stateless ? this.#stateless(result) : JSON.stringify(result))
    } finally {
      this.#running.delete(cancellation)
      if (session?.calls.get(request.id) === cancellation) session.calls.delete(request.id)
    }
  }

  #stateless(result: CallToolResult): string {
    if (result._meta === undefined) return `${JSON.stringify(result).slice(0, -1)},${this.#resultTail}`
    const _meta = { [SERVER_INFO_META_KEY]: this.#server.info, ...result._meta }
    return JSON.stringify({ ...result, resultType: 'complete', _meta })
  }
}

/** A request for tools that passes all checks of the SDK. */
export interface PlainRequest {
  readonly id: string | number
  readonly method: 'tools/call' | 'tools/list'
  readonly params: PlainParams
  readonly stateless: boolean
  readonly progressToken: ProgressToken | undefined
  readonly logLevel: LogLevel | undefined
}

interface PlainParams {
  readonly name?: unknown
  readonly arguments?: unknown
  readonly cursor?: unknown
  readonly _meta?: Readonly<Record<string, unknown>>
}

const STATELESS_VERSION = '2026-07-28'
const MESSAGE_KEYS = new Set(['jsonrpc', 'id', 'method', 'params'])
const PARAMS_KEYS = {
  'tools/call': new Set(['name', 'arguments', '_meta']),
  'tools/list': new Set(['cursor', '_meta']),
}
const META_KEYS = new Set([
  'progressToken',
  TRACEPARENT_META_KEY,
  TRACESTATE_META_KEY,
  BAGGAGE_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
])

/** Reads a request of a known form with the right headers; undefined for all others, which the SDK handles. */
export function plainRequest(headers: IncomingHttpHeaders, body: unknown): PlainRequest | undefined {
  if (!isObject(body) || body.jsonrpc !== '2.0' || !isToken(body.id) || !acceptsBoth(headers.accept)) return undefined
  const { id, method, params = {} } = body
  if ((method !== 'tools/call' && method !== 'tools/list') || !isObject(params)) return undefined
  if (!hasOnly(body, MESSAGE_KEYS) || !hasOnly(params, PARAMS_KEYS[method]) || !areSound(method, params))
    return undefined
  const { _meta: meta = {} } = params
  if (!isObject(meta) || (meta.progressToken !== undefined && !isToken(meta.progressToken))) return undefined
  const stateless = PROTOCOL_VERSION_META_KEY in meta
  if (stateless ? !isStateless(headers, body, params, meta) : !isOlder(headers)) return undefined
  return {
    id,
    method,
    params,
    stateless,
    progressToken: meta.progressToken,
    logLevel: stateless ? (meta[LOG_LEVEL_META_KEY] as LogLevel | undefined) : undefined,
  }
}

function areSound(method: 'tools/call' | 'tools/list', params: PlainParams): boolean {
  if (method === 'tools/list') return params.cursor === undefined || typeof params.cursor === 'string'
  return typeof params.name === 'string' && (params.arguments === undefined || isObject(params.arguments))
}

/** Older clients send the version in a header or not at all. */
function isOlder({ 'mcp-protocol-version': version }: IncomingHttpHeaders): boolean {
  return version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version as string)
}

function isStateless(
  headers: IncomingHttpHeaders,
  body: Record<string, unknown>,
  params: PlainParams,
  meta: Record<string, unknown>,
): boolean {
  return (
    headers['mcp-protocol-version'] === STATELESS_VERSION &&
    meta[PROTOCOL_VERSION_META_KEY] === STATELESS_VERSION &&
    headers['mcp-method'] === body.method &&
    (body.method === 'tools/list' || headers['mcp-name'] === params.name) &&
    hasOnly(meta, META_KEYS) &&
    classifyInboundRequest({ httpMethod: 'POST', body }).kind === 'modern'
  )
}

const acceptsBoth = (accept = ''): boolean =>
  accept.includes('application/json') && accept.includes('text/event-stream')

function hasOnly(object: object, keys: ReadonlySet<string>): boolean {
  for (const key in object) if (!keys.has(key)) return false
  return true
}

const isToken = (value: unknown): value is string | number => typeof value === 'string' || Number.isSafeInteger(value)
