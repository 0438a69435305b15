import { type Client, SdkError, SdkErrorCode, type Transport } from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { redactText } from '../../core/redact.ts'
import { cleanText } from '../stdio/clean-text.ts'
import { StdioTransport } from '../stdio/stdio-transport.ts'
import { CallingClient } from './calling-client.ts'
import { ConnectFailure } from './connect-failure.ts'
import { connectFailure } from './connect-reason.ts'
import { httpStatus } from './error-chain.ts'
import { openTransport } from './open-transport.ts'
import { outputValidator } from './output-validator.ts'
import { MCP_CONNECT_TIMEOUT, MCP_PROBE_TIMEOUT } from './retry-plan.ts'
import type { McpServerSettings } from './server-settings.ts'
import type { TokenSupply } from './token-supply.ts'

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
