import { systemClock } from '../core/clock.ts'
import { DeadlineWheel } from '../core/deadline-wheel.ts'
import { ToolExecutionError } from '../core/tool-execution-error.ts'
import type { HttpSettings } from '../kinds/http/definition/http-implementation.ts'
import type { HttpResponse } from '../kinds/http/exchange/outgoing-request.ts'
import { send } from '../kinds/http/exchange/send.ts'
import { guardedAgent } from '../kinds/http/network/guarded-agent.ts'
import { NetworkRules, type ToolNetwork } from '../kinds/http/network/network-rules.ts'
import { DOCUMENT_BYTES } from '../openapi/parse-document.ts'
import { UsageError } from './usage-error.ts'

const TIMEOUT_MS = 60_000
const HEADERS = { accept: 'application/json, application/yaml, */*;q=0.5', 'user-agent': 'toolyard' }

/** Reads a text from the web, under the same rules as HTTP tools: nothing inside is reachable unless it was opened. */
export async function fetchDocument(
  address: string,
  settings: HttpSettings,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly url: string }> {
  const url = URL.parse(address)
  if (url === null) throw new UsageError(`'${address}' is no address.`)
  const rules = new NetworkRules(settings)
  // Nothing secret is sent, so that a redirect may lead to any host that a tool could have.
  const network: ToolNetwork = { refusal: (asked) => rules.forTool(asked).refusal(asked) }
  const refusal = network.refusal(url)
  if (refusal !== undefined) throw new UsageError(refusal)
  const agent = guardedAgent(rules.addresses)
  try {
    const request = { method: 'GET', origin: url.origin, path: url.pathname + url.search, headers: HEADERS } as const
    const response = await send(request, {
      agent,
      network,
      wheel: new DeadlineWheel(systemClock),
      clock: systemClock,
      timeoutMs: TIMEOUT_MS,
      maxBytes: DOCUMENT_BYTES,
      signal,
      tool: 'import openapi',
    })
    return read(response, address)
  } catch (error) {
    if (!(error instanceof ToolExecutionError)) throw error
    throw new Error(`${address} could not be read: ${problemOf(error)}`, { cause: error })
  } finally {
    await agent.destroy()
  }
}

function read({ status, body, origin, path }: HttpResponse, address: string): { text: string; url: string } {
  if (status < 200 || status > 299) throw new Error(`${address} could not be read: it answered ${status}.`)
  return { text: body.toString('utf8'), url: origin + path }
}

function problemOf({ code, message }: ToolExecutionError): string {
  if (code === 'SERVICE_UNAVAILABLE') return 'there is no connection to it.'
  if (code === 'RESULT_TOO_LARGE') return `it is larger than ${DOCUMENT_BYTES / 1024 / 1024} MB.`
  if (code === 'TIMEOUT') return `it did not come within ${TIMEOUT_MS / 1_000} s.`
  return message
}
