import { SSEClientTransport, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { StdioTransport } from '../stdio/stdio-transport.ts'
import type { HttpReach, McpServerSettings } from './server-settings.ts'
import type { TokenSupply } from './token-supply.ts'

export interface TransportParts {
  readonly log: Log
  readonly clock: Clock
  /** Where the tokens for a server over HTTP come from. */
  readonly authProvider?: TokenSupply | undefined
}

/** A way to speak to a server that has not been used yet; a connection needs a new one each time. */
export function openTransport({ name, reach }: McpServerSettings, parts: TransportParts, sse = false): Transport {
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
