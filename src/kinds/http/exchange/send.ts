import { promisify } from 'node:util'
import { brotliDecompress, constants, gunzip, inflateRaw, inflate as inflateZlib, zstdDecompress } from 'node:zlib'
import { ToolExecutionError } from '../../../core/tool-result.ts'
import type { HttpMethod } from '../definition/http-implementation.ts'
import { exchange, type SendOptions } from './exchange.ts'
import { answerTooLarge, brokenAnswer, MAY_HAVE_RUN } from './exchange-error.ts'
import { type HttpResponse, leavesTls, type OutgoingRequest, requestTo } from './outgoing-request.ts'

const ENCODINGS = 'gzip, deflate, br, zstd'

/**
 * Sends a request and returns the complete response, whatever its status. Follows redirects that can't repeat a write.
 * Rejects with a ToolExecutionError or the signal's reason.
 */
export async function send(request: OutgoingRequest, options: SendOptions): Promise<HttpResponse> {
  const deadline = { at: options.clock.now() + options.timeoutMs }
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
 * Requests compression over https only: services on plain http are usually so near that compression costs more than it
 * saves. A tool's own accept-encoding header stays.
 */
function withEncodings(request: OutgoingRequest): OutgoingRequest {
  if (!request.origin.startsWith('https:') || request.headers['accept-encoding'] !== undefined) return request
  return { ...request, headers: { ...request.headers, 'accept-encoding': ENCODINGS } }
}

const MAX_REDIRECTS = 5
/** 300 names several locations and 304 none: neither is followed. */
const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** With these the service didn't process the request. */
const NOT_TAKEN: ReadonlySet<number> = new Set([307, 308])

const isRedirect = (status: number): boolean => status >= 300 && STATUSES.has(status)

/** Follows redirects. Every step is checked like the tool's own URL. */
export class Redirects {
  readonly #options: SendOptions
  readonly #seen: Set<string>
  #request: OutgoingRequest
  #steps = 0

  constructor(request: OutgoingRequest, options: SendOptions) {
    this.#request = request
    this.#options = options
    this.#seen = new Set([placeOf(request)])
  }

  /** Returns the redirected request; throws if it must not be sent. */
  next(response: HttpResponse): OutgoingRequest {
    const { status } = response
    const url = this.#target(response)
    const method = methodOf(this.#request.method, status)
    if (method === undefined) {
      throw this.#refused(
        status,
        `redirects to '${url.host}' (${status}). A ${this.#request.method} is not redirected: write the new address in the tool's implementation.url`,
      )
    }
    const refusal = this.#options.network.refusal(url)
    if (refusal !== undefined) throw this.#refused(status, `redirects to a blocked address. ${refusal}`)
    if (leavesTls(url, this.#request)) {
      throw this.#refused(status, `redirects from https to http, to '${url.host}', which is not allowed`)
    }
    if (++this.#steps > MAX_REDIRECTS) {
      throw this.#refused(status, `redirects more than ${MAX_REDIRECTS} times, at last to '${url.host}'`)
    }
    const next = requestTo(url, this.#request, method)
    const place = placeOf(next)
    if (this.#seen.has(place)) throw this.#refused(status, `redirects in a circle, back to '${url.host}'`)
    this.#seen.add(place)
    this.#request = next
    return next
  }

  #target({ headers: { location }, status }: HttpResponse): URL {
    if (location === undefined) throw this.#refused(status, `answered ${status} without a Location`)
    const url = URL.parse(location, this.#request.origin + this.#request.path)
    if (url === null) throw this.#refused(status, `answered ${status} with a Location that is not a URL`)
    return url
  }

  #refused(status: number, problem: string): ToolExecutionError {
    const { secrets, tool } = this.#options
    const message = `The service behind tool '${tool}' ${problem}`
    const extras = this.#steps === 0 && NOT_TAKEN.has(status) ? {} : MAY_HAVE_RUN
    return new ToolExecutionError('EXECUTION_ERROR', secrets?.scrub(message) ?? message, extras)
  }
}

/** Includes the method: a POST may redirect to a GET of the same URL. */
const placeOf = ({ method, origin, path }: OutgoingRequest): string => `${method} ${origin}${path}`

/** The method after a redirect; undefined if following it could repeat or lose a write. */
function methodOf(method: HttpMethod, status: number): HttpMethod | undefined {
  if (method === 'GET' || method === 'HEAD') return method
  return status === 303 ? 'GET' : undefined
}

const MAX_CODINGS = 2
const MAX_QUOTED = 40

type Inflate = (body: Buffer, bound: { readonly maxOutputLength: number }) => Promise<Buffer>

/** A zstd frame declares its window size. RFC 9659 limits it to 8 MB over HTTP. */
const ZSTD_LIMIT = { params: { [constants.ZSTD_d_windowLogMax]: 23 } }
const unzip = promisify<Buffer, object, Buffer>(gunzip)
const [zlib, raw] = [promisify<Buffer, object, Buffer>(inflateZlib), promisify<Buffer, object, Buffer>(inflateRaw)]
const zstd = promisify<Buffer, object, Buffer>(zstdDecompress)

const CODINGS: ReadonlyMap<string, Inflate> = new Map<string, Inflate>([
  ['gzip', unzip],
  ['x-gzip', unzip],
  ['deflate', (body, bound) => (hasZlibHeader(body) ? zlib : raw)(body, bound)],
  ['br', promisify<Buffer, object, Buffer>(brotliDecompress)],
  ['zstd', (body, bound) => zstd(body, { ...bound, ...ZSTD_LIMIT })],
])

export async function inflate(body: Buffer, encoding: string, maxBytes: number, tool: string): Promise<Buffer> {
  const names = encoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  if (names.length > MAX_CODINGS) {
    throw brokenAnswer(
      `The service behind tool '${tool}' compressed its answer ${names.length} times: at most ${MAX_CODINGS} are allowed`,
    )
  }
  let inflated = body
  for (const name of names.reverse()) {
    const undo = CODINGS.get(name)
    if (undo === undefined) {
      const quoted = name.slice(0, MAX_QUOTED).replaceAll(/[^\w.-]/g, '?')
      throw brokenAnswer(`The service behind tool '${tool}' answered in the unknown encoding '${quoted}'`)
    }
    try {
      inflated = await undo(inflated, { maxOutputLength: maxBytes })
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw answerTooLarge(tool, maxBytes)
      throw brokenAnswer(`The service behind tool '${tool}' sent a body that cannot be decompressed`, error)
    }
  }
  return inflated
}

/** The standard requires a zlib header for `deflate`; some servers omit it. */
function hasZlibHeader(body: Buffer): boolean {
  return body.length >= 2 && ((body[0] as number) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0
}
