import {
  Client,
  type JsonSchemaType,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import { connectionCode, connectionProblem, mayHaveLeft } from '../../core/failure.ts'
import { errorKind, type Log } from '../../core/log.ts'
import { redactText } from '../../core/records/redact.ts'
import { type CompiledSchema, compileSchema } from '../../core/schema/compiled-schema.ts'
import { isInlineFor } from '../../core/schema/schema-compiler.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { cleanText } from '../stdio/clean-text.ts'
import { isTooLarge } from '../stdio/message-reader.ts'
import { type MayQuote, StdioTransport } from '../stdio/stdio-transport.ts'
import { AuthorizationFailure, ConnectFailure } from './failures.ts'
import {
  declaredCapabilities,
  MCP_CONNECT_TIMEOUT,
  MCP_HTTP_PROBE_TIMEOUT,
  MCP_STDIO_PROBE_TIMEOUT,
  type McpServerSettings,
  type TokenSupply,
} from './server-settings.ts'
import { TrafficLog } from './traffic-log.ts'

export { TrafficLog }

/** What a connection learned about its server, for the next one. */
export interface Era {
  /** The server doesn't know the newer protocol and isn't asked again. */
  readonly legacy: boolean
  /** The server supports SSE but not streamable HTTP. */
  readonly sse: boolean
}

export interface OpenClient {
  readonly client: Client
  readonly era: Era
  stderrTail(): string
  close(): Promise<void>
}

interface OpenParts {
  readonly log: Log
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly era: Era | undefined
  readonly onChanged: (list: 'tools' | 'resources' | 'prompts') => void
  readonly authProvider?: TokenSupply | undefined
  readonly extend?: ((client: Client) => void) | undefined
  /** Records the messages. */
  readonly traffic?: TrafficLog | undefined
  /** Without it, the log holds what the server says. */
  readonly mayQuote?: MayQuote | undefined
  /** The tools that are being called. */
  readonly calls?: (() => readonly string[]) | undefined
}

const MAX_REASON_CHARACTERS = 500
const MAX_LOGGED_CHARACTERS = 1_000
/** Merges bursts of change notifications. */
const SETTLE_MS = 300
/** Statuses of servers that don't support streamable HTTP. */
const TOO_OLD = new Set([400, 404, 405, 406, 415])

/** Connects to a server with any version of the protocol. Rejects with a `ConnectFailure`. */
export async function openClient(settings: McpServerSettings, parts: OpenParts): Promise<OpenClient> {
  const era = parts.era ?? { legacy: false, sse: settings.reach.type === 'sse' }
  try {
    return await attempt(settings, parts, era)
  } catch (failure) {
    const cause = failure instanceof ConnectFailure ? failure.cause : undefined
    const tooOld = settings.reach.type === 'auto' && !era.sse && TOO_OLD.has(httpStatus(cause) ?? 0)
    if (!tooOld || parts.signal.aborted) throw failure
    return attempt(settings, parts, { legacy: true, sse: true })
  }
}

/** The era for the next attempt: some servers exit when they are asked for the newer protocol. */
export function nextEra({ reach }: McpServerSettings, era: Era | undefined, failure: ConnectFailure): Era | undefined {
  const ended = isSdkError(failure.cause, SdkErrorCode.EraNegotiationFailed)
  return reach.type === 'stdio' && ended && era?.legacy !== true ? { legacy: true, sse: false } : undefined
}

async function attempt(settings: McpServerSettings, parts: OpenParts, era: Era): Promise<OpenClient> {
  const { log, signal, extend, traffic } = parts
  let transport: Transport | undefined
  const stderrTail = (): string => (transport instanceof StdioTransport ? transport.stderrTail() : '')
  // The SDK's question for the version of the server doesn't end with the signal.
  const end = (): void => void transport?.close().catch(() => {})
  try {
    signal.throwIfAborted()
    transport = openTransport(settings, parts, era.sse)
    signal.addEventListener('abort', end)
    const client = newClient(settings, parts.onChanged)
    extend?.(client)
    client.onerror = (error) => {
      // The SDK includes whole messages that it can't use.
      const isQuoted = parts.mayQuote?.() !== false
      const reason = isQuoted ? redactText(cleanText(error.message.slice(0, MAX_LOGGED_CHARACTERS))) : errorKind(error)
      log.debug({ server: settings.name, reason }, 'MCP connection reported an error')
    }
    const prior = era.legacy ? ({ prior: { kind: 'legacy' } } as const) : {}
    await client.connect(traffic?.tap(transport) ?? transport, { signal, timeout: MCP_CONNECT_TIMEOUT, ...prior })
    const legacy = client.getProtocolEra() === 'legacy'
    return { client, era: { ...era, legacy }, stderrTail, close: () => client.close() }
  } catch (thrown) {
    await transport?.close().catch(() => {})
    throw connectFailure(settings, thrown, stderrTail())
  } finally {
    signal.removeEventListener('abort', end)
  }
}

function openTransport({ name, reach }: McpServerSettings, parts: OpenParts, sse: boolean): Transport {
  const { log, clock, authProvider, mayQuote } = parts
  if (reach.type === 'stdio') {
    const { command, args, env, cwd } = reach
    const onNoise = (text: string) => {
      parts.traffic?.noise(text)
      return parts.calls?.()
    }
    const options = { name, command, args, env, ...(cwd !== undefined && { cwd }), log, clock, onNoise, mayQuote }
    return new StdioTransport(options)
  }
  const url = URL.parse(reach.url)
  if (url === null) throw new TypeError(`mcpServers.${name}.url is not a URL`)
  const requestInit = { headers: { ...reach.headers } }
  const plain = authProvider?.fetch ?? reach.fetch
  const fetch = parts.traffic?.watch(plain) ?? plain
  const options = { requestInit, fetch, ...(authProvider && { authProvider }) }
  return sse ? new SSEClientTransport(url, options) : new StreamableHTTPClientTransport(url, options)
}

function newClient(settings: McpServerSettings, onChanged: OpenParts['onChanged']): Client {
  const probeMs = settings.reach.type === 'stdio' ? MCP_STDIO_PROBE_TIMEOUT : MCP_HTTP_PROBE_TIMEOUT
  const changed = (list: 'tools' | 'resources' | 'prompts') => ({
    autoRefresh: false,
    debounceMs: SETTLE_MS,
    onChanged: () => onChanged(list),
  })
  return new Client(
    { name: 'toolyard', version: '0.2.0' },
    {
      capabilities: declaredCapabilities(settings),
      jsonSchemaValidator: outputValidator,
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeMs } },
      listChanged: { tools: changed('tools'), resources: changed('resources'), prompts: changed('prompts') },
    },
  )
}

/**
 * Validates structured results with our guarded validator: hostile schemas can hang or crash the SDK's own. It doesn't
 * check results against schemas that it refuses, and results that would take too long.
 */
export const outputValidator: jsonSchemaValidator = {
  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    let compiled: CompiledSchema | undefined
    try {
      compiled = compileSchema(schema as JsonSchema)
    } catch {}
    return (input) => {
      if (compiled === undefined || !isInlineFor(compiled, input) || compiled.check(input)) {
        return { valid: true, data: input as T, errorMessage: undefined }
      }
      const problems = compiled.explain(input).map(({ message }) => message)
      return { valid: false, data: undefined, errorMessage: problems.join(', ') }
    }
  },
}

export function connectFailure(settings: McpServerSettings, thrown: unknown, stderr: string): ConnectFailure {
  if (thrown instanceof ConnectFailure) return thrown
  for (const error of errorChain(thrown)) {
    if (!(error instanceof AuthorizationFailure)) continue
    return new ConnectFailure(settings, error.reason, stderr, error, error.problem)
  }
  return new ConnectFailure(settings, reasonOf(thrown), stderr, thrown)
}

/** Quotes only messages of Toolyard and the SDK: those of network errors contain addresses. */
function reasonOf(thrown: unknown): string {
  const status = httpStatus(thrown)
  if (status !== undefined) return `it answered with status ${status}`
  const problem = connectionProblem(thrown)
  if (problem !== undefined) return problem
  if (isSdkError(thrown, SdkErrorCode.EraNegotiationFailed)) return 'it closed the connection before it answered'
  if (isSdkError(thrown, SdkErrorCode.RequestTimeout)) return noAnswer((thrown as SdkError).data)
  const ours = thrown instanceof ToolExecutionError || SdkError.isInstance(thrown) || ProtocolError.isInstance(thrown)
  if (!ours || !(thrown instanceof Error)) return 'the connection failed'
  return cleanText(thrown.message).slice(0, MAX_REASON_CHARACTERS).replace(/\.$/, '')
}

function noAnswer(data: unknown): string {
  const { timeout } = Object(data) as { readonly timeout?: unknown }
  return typeof timeout === 'number' ? `no answer within ${timeout / 1_000} s` : 'no answer'
}

const isSdkError = (thrown: unknown, code: SdkErrorCode): boolean => SdkError.isInstance(thrown) && thrown.code === code

const MAX_CAUSES = 5
const MAX_PARTS = 8

/** An error, its causes, and the parts of an aggregate error. */
function* errorChain(thrown: unknown, depth = 0): Generator<Error, void, undefined> {
  if (!(thrown instanceof Error) || depth > MAX_CAUSES) return
  yield thrown
  yield* errorChain(thrown.cause, depth + 1)
  const { errors } = thrown as { errors?: unknown }
  if (Array.isArray(errors)) for (const one of errors.slice(0, MAX_PARTS)) yield* errorChain(one, depth + 1)
}

const httpStatus = (thrown: unknown): number | undefined =>
  errorChain(thrown).find((error) => SdkHttpError.isInstance(error))?.status

/** The result of a failed request, decided by codes and statuses only. */
type CallFault =
  /** The server answered with an error; the connection works. */
  | { readonly kind: 'answered'; readonly error: ToolExecutionError }
  /** The connection is broken; `sent` says whether the request may have arrived. */
  | { readonly kind: 'lost'; readonly sent: boolean }
  | { readonly kind: 'other'; readonly error: unknown }

/** A server that doesn't know the session hasn't processed the request. */
const SESSION_GONE = 404

const SDK_FAULTS: Partial<Record<SdkErrorCode, CallFault>> = {
  [SdkErrorCode.NotConnected]: { kind: 'lost', sent: false },
  [SdkErrorCode.NotInitialized]: { kind: 'lost', sent: false },
  [SdkErrorCode.ConnectionClosed]: { kind: 'lost', sent: true },
  [SdkErrorCode.SendFailed]: { kind: 'lost', sent: true },
}

export function callFault(thrown: unknown): CallFault {
  if (isTooLarge(thrown)) return answered((thrown as Error).message, 'RESULT_TOO_LARGE')
  if (ProtocolError.isInstance(thrown) || isSdkError(thrown, SdkErrorCode.InvalidResult)) {
    return answered((thrown as Error).message)
  }
  if (SdkHttpError.isInstance(thrown)) {
    const { status } = thrown
    if (status === SESSION_GONE) return { kind: 'lost', sent: false }
    if (status >= 500) return { kind: 'lost', sent: true }
    return answered(`The MCP server refused the request with status ${status}`)
  }
  if (SdkError.isInstance(thrown)) return SDK_FAULTS[thrown.code] ?? { kind: 'other', error: thrown }
  const code = connectionCode(thrown)
  return code === undefined ? { kind: 'other', error: thrown } : { kind: 'lost', sent: mayHaveLeft(code) }
}

const answered = (message: string, code: 'EXECUTION_ERROR' | 'RESULT_TOO_LARGE' = 'EXECUTION_ERROR'): CallFault => ({
  kind: 'answered',
  // The tool has already run.
  error: new ToolExecutionError(code, message, code === 'RESULT_TOO_LARGE' ? { outcome: 'unknown' } : {}),
})
