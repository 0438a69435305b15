import {
  Client,
  type JsonSchemaType,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
  SSEClientTransport,
  type StandardSchemaV1,
  StreamableHTTPClientTransport,
  specTypeSchemas,
  type Transport,
} from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { redactText } from '../../core/redact.ts'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { cleanText } from '../stdio/clean-text.ts'
import { StdioTransport } from '../stdio/stdio-transport.ts'
import { ConnectFailure } from './connect-failure.ts'
import { connectFailure } from './connect-reason.ts'
import { httpStatus } from './error-chain.ts'
import { MCP_CONNECT_TIMEOUT, MCP_PROBE_TIMEOUT } from './retry-plan.ts'
import type { HttpReach, McpServerSettings } from './server-settings.ts'
import type { TokenSupply } from './token-supply.ts'

/**
 * Holds structured results against the schema that a server declares. The SDK's own validator can be hung or crashed by a
 * hostile one; ours is guarded. A schema that is refused, or that only the exact validator could judge, is not held.
 */
export const outputValidator: jsonSchemaValidator = {
  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    const compiled = compile(schema as JsonSchema)
    return (input) => {
      if (compiled?.check === undefined || compiled.check(input)) {
        return { valid: true, data: input as T, errorMessage: undefined }
      }
      const problems = compiled.explain(input).map(({ message }) => message)
      return { valid: false, data: undefined, errorMessage: problems.join(', ') }
    }
  },
}

function compile(schema: JsonSchema) {
  try {
    return compileSchema(schema)
  } catch {
    return undefined
  }
}

/** Results of other kinds of request: with one of these and no content, an answer is none of a call. */
const FOREIGN = ['task', 'inputRequests', 'requestState']

const CALL_RESULT: StandardSchemaV1 = {
  '~standard': {
    version: 1,
    vendor: 'toolyard',
    validate(value) {
      const isForeign = isObject(value) && value.content === undefined && FOREIGN.some((key) => key in value)
      if (isForeign) return { issues: [{ message: 'the answer is not that of a call: it has no content' }] }
      return specTypeSchemas.CallToolResult['~standard'].validate(value)
    },
  },
}

/**
 * The SDK's client, which is told what the result of a call looks like. Otherwise it finds out whether it knows by a
 * validation that fails, before every single request, and that is about half of what a call costs.
 */
class CallingClient extends Client {
  override request(
    request: { method: string; params?: Record<string, unknown> },
    schemaOrOptions?: StandardSchemaV1 | RequestOptions,
    options?: RequestOptions,
  ): Promise<never> {
    const named = request.method !== 'tools/call' || (schemaOrOptions !== undefined && '~standard' in schemaOrOptions)
    const answer = named
      ? super.request(request, schemaOrOptions as StandardSchemaV1, options)
      : super.request(request, CALL_RESULT, schemaOrOptions as RequestOptions)
    return answer as Promise<never>
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** What is remembered of a server from one connection to the next. */
export interface Era {
  /** It does not know the newer protocol: it is not asked about it again. */
  readonly legacy: boolean
  /** It speaks SSE and not streamable HTTP. */
  readonly sse: boolean
}

export interface OpenClient {
  readonly client: Client
  readonly era: Era
  /** The last lines of the server's stderr, where there is one. */
  stderrTail(): string
  close(): Promise<void>
}

export interface OpenParts {
  readonly log: Log
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly era: Era | undefined
  readonly onChanged: (list: 'tools' | 'resources' | 'prompts') => void
  readonly authProvider?: TokenSupply | undefined
  /** Gets the client before it connects. */
  readonly extend?: ((client: Client) => void) | undefined
}

const MOST_OF_A_REASON = 1_000
const LISTS = ['tools', 'resources', 'prompts'] as const
/** A storm of notices is one change. */
const SETTLE_MS = 300
/** What a server answers that does not know streamable HTTP. */
const TOO_OLD = new Set([400, 404, 405, 406, 415])

/** Connects to a server, whichever of the protocols it speaks. Rejects with a `ConnectFailure`. */
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

/**
 * What to try next time: some servers end on the question whether they know the newer protocol, and look as if they could
 * not be started at all.
 */
export function nextEra({ reach }: McpServerSettings, era: Era | undefined, failure: ConnectFailure): Era | undefined {
  const { cause } = failure
  const ended = SdkError.isInstance(cause) && cause.code === SdkErrorCode.EraNegotiationFailed
  return reach.type === 'stdio' && ended && era?.legacy !== true ? { legacy: true, sse: false } : undefined
}

async function attempt(settings: McpServerSettings, parts: OpenParts, era: Era): Promise<OpenClient> {
  const { log, clock, signal, onChanged, authProvider, extend } = parts
  let transport: Transport | undefined
  const stderrTail = (): string => (transport instanceof StdioTransport ? transport.stderrTail() : '')
  try {
    transport = openTransport(settings, { log, clock, authProvider }, era.sse)
    const client = newClient(onChanged)
    extend?.(client)
    client.onerror = (error) => {
      // The SDK puts the whole of a message that it cannot use into the text.
      const reason = redactText(cleanText(error.message.slice(0, MOST_OF_A_REASON)))
      log.debug({ server: settings.name, reason }, 'MCP connection reported an error')
    }
    const prior = era.legacy ? ({ prior: { kind: 'legacy' } } as const) : {}
    await client.connect(transport, { signal, timeout: MCP_CONNECT_TIMEOUT, ...prior })
    const legacy = client.getProtocolEra() === 'legacy'
    return { client, era: { ...era, legacy }, stderrTail, close: () => client.close() }
  } catch (thrown) {
    await transport?.close().catch(() => {})
    throw connectFailure(settings, thrown, stderrTail())
  }
}

function newClient(onChanged: OpenParts['onChanged']): Client {
  const changed = (list: (typeof LISTS)[number]) => ({
    autoRefresh: false,
    debounceMs: SETTLE_MS,
    onChanged: () => onChanged(list),
  })
  return new CallingClient(
    { name: 'toolyard', version: '0.1.0' },
    {
      jsonSchemaValidator: outputValidator,
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: MCP_PROBE_TIMEOUT } },
      listChanged: { tools: changed('tools'), resources: changed('resources'), prompts: changed('prompts') },
    },
  )
}

interface TransportParts {
  readonly log: Log
  readonly clock: Clock
  /** Where the tokens for a server over HTTP come from. */
  readonly authProvider?: TokenSupply | undefined
}

/** A way to speak to a server that has not been used yet; a connection needs a new one each time. */
function openTransport({ name, reach }: McpServerSettings, parts: TransportParts, sse = false): Transport {
  const { log, clock, authProvider } = parts
  if (reach.type === 'stdio') {
    const { command, args, env, cwd } = reach
    return new StdioTransport({ command, args: [...args], env, ...(cwd !== undefined && { cwd }), log, clock })
  }
  const requestInit = { headers: { ...reach.headers } }
  const options = { requestInit, ...(authProvider && { authProvider, fetch: authProvider.fetch }) }
  const url = urlOf(reach, name)
  return sse || reach.type === 'sse'
    ? new SSEClientTransport(url, options)
    : new StreamableHTTPClientTransport(url, options)
}

function urlOf({ url }: HttpReach, name: string): URL {
  if (URL.canParse(url)) return new URL(url)
  throw new TypeError(`mcpServers.${name}.url is not an address`)
}
