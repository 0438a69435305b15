import { systemClock } from '../../../core/clock.ts'
import { DeadlineWheel } from '../../../core/deadline-wheel.ts'
import { ToolExecutionError } from '../../../core/tool-result.ts'
import type { HttpSettings } from '../definition/http-implementation.ts'
import { guardedAgent } from '../network/guarded-agent.ts'
import { NetworkRules, type ToolNetwork } from '../network/network-rules.ts'
import { send } from './send.ts'

/** The address is blocked by network policy, or isn't one. */
export class BlockedDownload extends Error {
  override readonly name = 'BlockedDownload'
}

interface DownloadOptions {
  readonly settings: HttpSettings
  readonly signal: AbortSignal
  readonly maxBytes: number
  readonly accept: string
  /** Names the download in records of failures. */
  readonly tool: string
}

const TIMEOUT_MS = 60_000

/** Downloads a file under the network policy of HTTP tools: private addresses are blocked unless allowed. */
export async function download(
  address: string,
  { settings, accept, ...options }: DownloadOptions,
): Promise<{ readonly body: Buffer; readonly url: string }> {
  const url = URL.parse(address)
  if (url === null) throw new BlockedDownload(`'${address}' is not a URL.`)
  const rules = new NetworkRules(settings)
  // The request carries no secrets, so it may be redirected to any host that a tool may use.
  const network: ToolNetwork = { refusal: (asked) => rules.forTool(asked).refusal(asked) }
  const refusal = network.refusal(url)
  if (refusal !== undefined) throw new BlockedDownload(refusal)
  const agent = guardedAgent(rules.addresses)
  try {
    const headers = { accept, 'user-agent': 'toolyard' }
    const request = { method: 'GET', origin: url.origin, path: url.pathname + url.search, headers } as const
    const { status, body, origin, path } = await send(request, {
      ...{ agent, network, clock: systemClock, timeoutMs: TIMEOUT_MS, tenant: 'local' },
      ...options,
      wheel: new DeadlineWheel(systemClock),
    })
    if (status < 200 || status > 299) throw new Error(`${address} cannot be read: the server responded with ${status}.`)
    return { body, url: origin + path }
  } catch (error) {
    if (!(error instanceof ToolExecutionError)) throw error
    throw new Error(`${address} cannot be read: ${problemOf(error, options.maxBytes)}`, { cause: error })
  } finally {
    await agent.destroy()
  }
}

function problemOf({ code, message }: ToolExecutionError, maxBytes: number): string {
  if (code === 'SERVICE_UNAVAILABLE') return 'the connection failed.'
  if (code === 'RESULT_TOO_LARGE') return `it is larger than ${maxBytes / 1024 / 1024} MB.`
  if (code === 'TIMEOUT') return `no response within ${TIMEOUT_MS / 1_000} s.`
  return message
}
