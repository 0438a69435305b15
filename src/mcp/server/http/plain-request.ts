import type { IncomingHttpHeaders } from 'node:http'
import {
  BAGGAGE_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  classifyInboundRequest,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  TRACEPARENT_META_KEY,
  TRACESTATE_META_KEY,
} from '@modelcontextprotocol/server'
import type { LogLevel, ProgressToken } from '../report-reader.ts'

/** A request for tools that is right in every respect the SDK would check, so that it can be answered without it. */
export interface PlainRequest {
  readonly id: string | number
  readonly method: 'tools/call' | 'tools/list'
  readonly params: PlainParams
  /** Of the stateless era, where the request itself says who asks. */
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
const MOST_ENVELOPES = 256
const LONGEST_ENVELOPE = 2_000

/** What clients say of themselves with every request of the stateless era, and the SDK has found right once. */
const soundEnvelopes = new Set<string>()

/**
 * Reads the requests that nearly all are: of a known form, with the headers they must have. Everything else gives
 * undefined and is the SDK's, which knows what to say about it.
 */
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

/** Older clients name the version in a header, if at all. */
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
    isSoundEnvelope(body, meta)
  )
}

/** A client sends the same envelope with each of its requests, but for these: the SDK reads it the first time. */
function isSoundEnvelope(body: Record<string, unknown>, meta: Record<string, unknown>): boolean {
  const { progressToken, traceparent, tracestate, baggage, ...envelope } = meta
  const text = JSON.stringify(envelope)
  if (soundEnvelopes.has(text)) return true
  if (text.length > LONGEST_ENVELOPE) return false
  if (classifyInboundRequest({ httpMethod: 'POST', body }).kind !== 'modern') return false
  if (soundEnvelopes.size >= MOST_ENVELOPES) soundEnvelopes.clear()
  soundEnvelopes.add(text)
  return true
}

const acceptsBoth = (accept = ''): boolean =>
  accept.includes('application/json') && accept.includes('text/event-stream')

function hasOnly(object: object, keys: ReadonlySet<string>): boolean {
  for (const key in object) if (!keys.has(key)) return false
  return true
}

const isToken = (value: unknown): value is string | number => typeof value === 'string' || Number.isSafeInteger(value)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
