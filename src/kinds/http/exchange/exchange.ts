import type { Dispatcher } from 'undici'
import type { CancelSignal } from '../../../core/cancellation.ts'
import type { Clock } from '../../../core/clock.ts'
import { DeadlineEntry, type DeadlineWheel } from '../../../core/deadline-wheel.ts'
import { FairPool, type FairPoolOptions } from '../../../core/execution/fair-pool.ts'
import { ToolExecutionError } from '../../../core/tool-result.ts'
import type { SecretValues } from '../definition/secret-values.ts'
import { CONNECTIONS } from '../network/guarded-agent.ts'
import type { ToolNetwork } from '../network/network-rules.ts'
import { answerTooLarge, attemptTimedOut, connectionFailed } from './exchange-error.ts'
import type { HttpResponse, OutgoingRequest } from './outgoing-request.ts'

export interface SendOptions {
  readonly agent: Dispatcher
  /** Shares the connections of the agent between tenants; without it, the first requests get them. */
  readonly connections?: OriginConnections
  readonly tenant: string
  /** Checks each redirect; the tool's own URL was checked when the tool was loaded. */
  readonly network: ToolNetwork
  readonly wheel: DeadlineWheel
  readonly clock: Clock
  /** Total timeout, including redirects. The wait for a connection of the agent doesn't count. */
  readonly timeoutMs: number
  /** Timeout until the response headers, for each request. */
  readonly firstByteTimeoutMs?: number | undefined
  /** Limit for a body, both compressed and decompressed. */
  readonly maxBytes: number
  readonly signal: CancelSignal | undefined
  readonly tool: string
  /** Removed from error messages: a service chooses the URLs it redirects to. */
  readonly secrets?: SecretValues | undefined
}

type Headers = Record<string, string | string[] | undefined>

/** How many requests of one tenant to one origin may wait for a connection. */
const QUEUE = 1_000
const MAX_ORIGINS = 1_000

/** The requests to each origin, running and waiting. One tenant has at most half of the connections. */
export class OriginConnections {
  readonly #pools = new Map<string, FairPool<Exchange>>()
  readonly #bounds: FairPoolOptions
  #starting = false

  constructor(bounds: Partial<FairPoolOptions> = {}) {
    this.#bounds = { size: CONNECTIONS, queue: QUEUE, ...bounds }
  }

  /** Starts a request, or lets it wait for a connection. Returns false if too many of its tenant wait. */
  enter(exchange: Exchange, origin: string): boolean {
    let pool = this.#pools.get(origin)
    if (pool === undefined) {
      pool = new FairPool(this.#bounds)
      this.#pools.set(origin, pool)
    }
    if (!pool.enter(exchange.tenant)) return pool.add(exchange)
    exchange.dispatch()
    return true
  }

  /** Called once for each request that has entered. */
  leave(exchange: Exchange, origin: string): void {
    const pool = this.#pools.get(origin)
    if (pool === undefined) return
    if (!pool.remove(exchange)) pool.leave(exchange.tenant)
    // A request that fails at once leaves while the next ones start: one loop starts them all.
    if (this.#starting) return
    this.#starting = true
    for (let next = pool.take(); next !== undefined; next = pool.take()) next.dispatch()
    this.#starting = false
    if (pool.taken + pool.waiting === 0 && this.#pools.size > MAX_ORIGINS) this.#pools.delete(origin)
  }
}

/** A chunk of a few bytes needs far more memory, so many chunks are joined. */
const MAX_CHUNKS = 1_024
/** Shared, because capturing a stack for each aborted exchange is expensive. */
const CUT = Object.assign(new Error('The exchange is over'), { code: 'UND_ERR_ABORTED' })

/** When the requests of one redirect chain must have ended. Moved by the time that they wait for a connection. */
export interface Deadline {
  at: number
}

/** Sends one request; `left` says that an earlier request of the same call was already sent. */
export function exchange(
  request: OutgoingRequest,
  options: SendOptions,
  deadline: Deadline,
  left: boolean,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    new Exchange(request, options, deadline, left, resolve, reject).begin()
  })
}

/** One exchange: undici's handler, the entry in the deadline wheel and the listener of the signal. */
class Exchange extends DeadlineEntry implements Dispatcher.DispatchHandler {
  readonly tenant: string
  readonly #request: OutgoingRequest
  readonly #options: SendOptions
  readonly #deadline: Deadline
  readonly #resolve: (response: HttpResponse) => void
  readonly #reject: (reason: unknown) => void
  #left: boolean
  #settled = false
  /** Since when it waits, or has waited, for a connection. */
  #waitsSince: number | undefined
  #state: 'new' | 'waiting' | 'sent' | 'over' = 'new'
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #headers: Record<string, string> = {}
  #bytes = 0
  #chunks: Buffer[] = []

  constructor(
    request: OutgoingRequest,
    options: SendOptions,
    deadline: Deadline,
    left: boolean,
    resolve: (response: HttpResponse) => void,
    reject: (reason: unknown) => void,
  ) {
    super()
    this.tenant = options.tenant
    this.#request = request
    this.#options = options
    this.#deadline = deadline
    this.#left = left
    this.#resolve = resolve
    this.#reject = reject
  }

  begin(): void {
    const { clock, connections, signal } = this.#options
    if (signal !== undefined) {
      if (signal.aborted) {
        this.#reject(signal.reason)
        return
      }
      signal.addEventListener('abort', this)
    }
    if (connections === undefined) this.dispatch()
    else {
      this.#state = 'waiting'
      if (connections.enter(this, this.#request.origin)) {
        if (this.#isWaiting) this.#waitsSince = clock.now()
        return
      }
      this.#state = 'new'
      this.#fail(tooManyWait(this.#options.tool))
    }
  }

  get #isWaiting(): boolean {
    return this.#state === 'waiting'
  }

  /** Sends the request. Called when its turn has come. Its timeouts begin now: the service isn't slow because others wait. */
  dispatch(): void {
    const { clock, firstByteTimeoutMs = Number.POSITIVE_INFINITY, wheel } = this.#options
    const now = clock.now()
    if (this.#waitsSince !== undefined) this.#deadline.at += now - this.#waitsSince
    wheel.add(this, Math.min(now + firstByteTimeoutMs, this.#deadline.at))
    const { body = null, headers, method, origin, path } = this.#request
    this.#state = 'sent'
    // undici's body timeout restarts with each chunk, so a slow body would never reach it.
    this.#options.agent.dispatch({ origin, path, method, headers, body, headersTimeout: 0, bodyTimeout: 0 }, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Throwing before a byte is written keeps the connection usable for others.
    if (this.#settled) throw CUT
    this.#left = true
    this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200 || this.#settled) return
    const { firstByteTimeoutMs, maxBytes, tool, wheel } = this.#options
    this.#status = status
    this.#headers = joined(headers)
    if (firstByteTimeoutMs !== undefined) {
      wheel.remove(this)
      wheel.add(this, this.#deadline.at)
    }
    const length = this.#headers['content-length']
    if (length === undefined || this.#request.method === 'HEAD') return
    if (Number(length) > maxBytes) this.#fail(answerTooLarge(tool, maxBytes))
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return
    const { maxBytes, tool } = this.#options
    this.#bytes += chunk.length
    this.#chunks.push(chunk)
    if (this.#chunks.length > MAX_CHUNKS) this.#chunks = [Buffer.concat(this.#chunks)]
    if (this.#bytes > maxBytes) this.#fail(answerTooLarge(tool, maxBytes))
  }

  onResponseEnd(): void {
    this.#leave()
    if (!this.#settle()) return
    const { origin, path } = this.#request
    const query = path.indexOf('?')
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks),
      origin,
      path: query === -1 ? path : path.slice(0, query),
    })
  }

  onResponseError(_: unknown, error: Error): void {
    this.#leave()
    if (this.#settled) return
    this.#fail(connectionFailed(error, this.#options.tool, this.#left))
  }

  override expire(): void {
    const { clock, firstByteTimeoutMs, timeoutMs } = this.#options
    const whole = firstByteTimeoutMs === undefined || clock.now() >= this.#deadline.at
    this.#fail(attemptTimedOut(whole ? timeoutMs : firstByteTimeoutMs, this.#left, !whole))
  }

  /** If the call has timed out because the request had to wait, that is no failure of the service. */
  handleEvent(): void {
    const reason: unknown = this.#options.signal?.reason
    const isOver = this.#waitsSince !== undefined && reason instanceof ToolExecutionError && reason.code === 'TIMEOUT'
    this.#fail(isOver ? new ToolExecutionError('CANCELLED', reason.message, reason.extras, { cause: reason }) : reason)
  }

  #fail(reason: unknown): void {
    if (!this.#settle()) return
    this.#reject(reason)
    if (this.#isWaiting) this.#leave()
    else this.#controller?.abort(CUT)
  }

  /** A request that timed out holds its place until undici has closed its connection. */
  #leave(): void {
    if (this.#state !== 'waiting' && this.#state !== 'sent') return
    this.#state = 'over'
    this.#options.connections?.leave(this, this.#request.origin)
  }

  #settle(): boolean {
    if (this.#settled) return false
    this.#settled = true
    this.#options.wheel.remove(this)
    this.#options.signal?.removeEventListener('abort', this)
    return true
  }
}

const tooManyWait = (tool: string): ToolExecutionError =>
  new ToolExecutionError(
    'RATE_LIMITED',
    `Tool '${tool}' is busy: too many requests of your tenant wait for a connection to its service. Try again later`,
    {},
    { repeat: { neverLeft: true } },
  )

/** Joins repeated headers. */
function joined(headers: Headers): Record<string, string> {
  for (const name in headers) {
    const value = headers[name]
    if (typeof value !== 'string') headers[name] = value?.join(', ') ?? ''
  }
  return headers as Record<string, string>
}
