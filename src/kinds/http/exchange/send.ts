import type { HttpResponse, OutgoingRequest } from '../outgoing-request.ts'
import { exchange } from './exchange.ts'
import { inflate } from './inflate.ts'
import { isRedirect, Redirects } from './redirects.ts'
import type { SendOptions } from './send-options.ts'

const ENCODINGS = 'gzip, deflate, br, zstd'

/**
 * Sends a request and gives the whole answer, whatever its status; follows redirects where nothing can happen twice by
 * that. Fails with the one error of the system, or with the reason of the signal.
 */
export async function send(request: OutgoingRequest, options: SendOptions): Promise<HttpResponse> {
  const deadline = options.clock.now() + options.timeoutMs
  const asked = withEncodings(request)
  let response = await exchange(asked, options, deadline, false)
  if (isRedirect(response.status)) {
    const redirects = new Redirects(asked, options)
    do {
      const next = redirects.next(response)
      response = await exchange(next, options, deadline, true)
    } while (isRedirect(response.status))
  }
  const encoding = response.headers['content-encoding']
  if (encoding === undefined || response.body.length === 0) return response
  return { ...response, body: await inflate(response.body, encoding, options.maxBytes, options.tool) }
}

/**
 * Compression is asked for over https only: what is near enough for plain http is read sooner as it is. Nothing is
 * taken away from what the tool itself says.
 */
function withEncodings(request: OutgoingRequest): OutgoingRequest {
  if (!request.origin.startsWith('https:') || request.headers['accept-encoding'] !== undefined) return request
  return { ...request, headers: { ...request.headers, 'accept-encoding': ENCODINGS } }
}
