import {
  type CircuitBreakerPolicy,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
  CircuitState as State,
} from 'cockatiel'
import { LRUCache } from 'lru-cache'
import type { Agent } from 'undici'
import type { UserAccounts } from '../../core/call-context.ts'
import type { CancelSignal } from '../../core/cancellation.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { DeadlineWheel } from '../../core/deadline-wheel.ts'
import type { Environment } from '../../core/environment.ts'
import type { CircuitState, HandlerContext } from '../../core/handler.ts'
import { type Log, silentLog, writeLog } from '../../core/log.ts'
import { redactText } from '../../core/records/redact.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { type AuthPlan, compileAuth } from './auth/compile-auth.ts'
import { AccessTokens } from './auth/token-source.ts'
import type { HttpSettings } from './definition/http-implementation.ts'
import { exchange, OriginConnections, type SendOptions } from './exchange/exchange.ts'
import type { HttpResponse, OutgoingRequest } from './exchange/outgoing-request.ts'
import { send } from './exchange/send.ts'
import { guardedAgent } from './network/guarded-agent.ts'
import { NetworkRules, type ToolNetwork } from './network/network-rules.ts'
import { compileRequest, type RequestPlan } from './request/request-plan.ts'
import { Pages } from './response/pages.ts'
import { type Reading, readResponse } from './response/read-response.ts'
import { ResponseShape } from './response/response-shape.ts'

export interface HttpParts {
  readonly settings: HttpSettings
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: Log
  readonly clock: Clock
  readonly accounts?: UserAccounts | undefined
  /** Whether the log may hold the parameters of a call. Default: yes. */
  readonly logged?: ((failed: boolean) => boolean) | undefined
}

/** Connections, network rules and tokens shared by the HTTP tools of an installation. */
export class HttpClient {
  readonly parts: HttpParts
  readonly rules: NetworkRules
  readonly agent: Agent
  readonly wheel: DeadlineWheel
  readonly tokens: AccessTokens
  readonly connections = new OriginConnections()

  constructor(parts: HttpParts) {
    this.parts = parts
    this.rules = new NetworkRules(parts.settings)
    this.agent = guardedAgent(this.rules.addresses, { clock: parts.clock })
    this.wheel = new DeadlineWheel(parts.clock)
    this.tokens = new AccessTokens(parts.clock)
  }

  async close(): Promise<void> {
    await this.agent.destroy()
  }
}

const TIMEOUT_MS = 10_000
/** Parsing 2 MB of JSON doesn't block the event loop noticeably. */
const MAX_BYTES = 2 * 1024 * 1024

/** A compiled HTTP tool: everything that doesn't depend on the call is computed once. */
export class HttpTool {
  readonly #name: string
  readonly #client: HttpClient
  readonly #plan: RequestPlan
  readonly #auth: AuthPlan
  readonly #network: ToolNetwork
  readonly #circuits: Circuits
  readonly #reading: Reading
  readonly #pages: Pages | undefined
  /** Send options without those of the call. */
  readonly #sending: Omit<SendOptions, 'signal' | 'tenant'>

  /** Throws if the implementation is invalid or its URL is blocked by network policy. */
  constructor(tool: ToolDefinition, client: HttpClient, env: Environment) {
    const { clock, log } = client.parts
    const plan = compileRequest(tool, env)
    const { implementation } = plan
    this.#name = tool.name
    this.#client = client
    this.#plan = plan
    this.#network = networkOf(tool.name, plan, client)
    this.#sending = {
      agent: client.agent,
      connections: client.connections,
      network: this.#network,
      wheel: client.wheel,
      clock,
      timeoutMs: implementation.timeout_ms ?? TIMEOUT_MS,
      firstByteTimeoutMs: implementation.first_byte_timeout_ms,
      maxBytes: implementation.max_response_bytes ?? MAX_BYTES,
      tool: tool.name,
      secrets: plan.secrets,
    }
    this.#auth = compileAuth(implementation.auth, {
      tool: tool.name,
      url: plan.url,
      secrets: plan.secrets,
      tokens: client.tokens,
      accounts: client.parts.accounts,
      refusal: (url) => client.rules.forTool(url, implementation.allowed_domains).refusal(url),
      ask: (request, tenant, signal) =>
        exchange(request, { ...this.#sending, tenant, signal }, { at: clock.now() + this.#sending.timeoutMs }, false),
    })
    const { failures, open_ms: openMs } = implementation.circuit_breaker ?? {}
    this.#circuits = new Circuits({ tool: tool.name, failures, openMs, clock, log })
    const shape = new ResponseShape(tool.name, implementation, log)
    this.#reading = { tool: tool.name, method: plan.method, shape, clock }
    const { pagination } = implementation
    this.#pages = pagination && new Pages(pagination, implementation, this.#reading, log)
  }

  /** The circuit of a tenant; without one, the worst of all. */
  circuit(tenant: string | undefined): CircuitState {
    return this.#circuits.state(tenant)
  }

  call(params: Params, context: HandlerContext): Promise<unknown> {
    const request = this.#plan.build(params)
    return this.#circuits.run(context.tenant, () =>
      this.#pages ? this.#gather(this.#pages, request, context) : this.#get(request, context),
    )
  }

  async #get(request: OutgoingRequest, context: HandlerContext): Promise<unknown> {
    const { response, sent } = await this.#ask(request, context)
    return readResponse(response, this.#reading, this.#auth.secretsOf(sent))
  }

  #gather(pages: Pages, first: OutgoingRequest, context: HandlerContext): Promise<unknown> {
    const auth = this.#auth
    let last = first
    return pages.gather(first, {
      ask: async (request) => {
        const { response, sent } = await this.#ask(request, context)
        last = sent
        return response
      },
      get secrets() {
        return auth.secretsOf(last)
      },
      maxBytes: this.#sending.maxBytes,
      network: this.#network,
    })
  }

  /** Sends an authenticated request, and again with a new token if the service responds with 401. */
  async #ask(
    request: OutgoingRequest,
    context: HandlerContext,
  ): Promise<{ response: HttpResponse; sent: OutgoingRequest }> {
    const { tenant, rights } = context
    const signal = context.cancellation ?? context.signal
    const own = request.origin === this.#plan.url.origin
    let sent = own ? this.#auth.apply(request, tenant, signal, rights) : request
    if (sent instanceof Promise) sent = await sent
    let response = await this.#send(sent, tenant, signal)
    if (response.status === 401 && own && this.#auth.refused(sent, tenant)) {
      sent = await this.#auth.apply(request, tenant, signal, rights)
      response = await this.#send(sent, tenant, signal)
    }
    return { response, sent }
  }

  async #send(request: OutgoingRequest, tenant: string, signal: CancelSignal): Promise<HttpResponse> {
    const { log, clock, logged } = this.#client.parts
    const began = clock.now()
    const response = await send(request, { ...this.#sending, tenant, signal })
    if (log.isLevelEnabled('info')) {
      const fields = {
        tool: this.#name,
        method: request.method,
        origin: request.origin,
        // It has parameters, which may contain secrets and have any length.
        ...(logged?.(false) !== false && { path: redactText(this.#auth.secretsOf(request).scrub(request.path)) }),
        status: response.status,
        bytes: response.body.length,
        duration_ms: Math.round((clock.now() - began) * 1_000) / 1_000,
      }
      writeLog(log, 'info', fields, 'HTTP request answered')
    }
    return response
  }
}

function networkOf(name: string, { url, implementation }: RequestPlan, { rules }: HttpClient): ToolNetwork {
  const network = rules.forTool(url, implementation.allowed_domains)
  const refusal = network.refusal(url)
  if (refusal === undefined) return network
  throw new ToolExecutionError('EXECUTION_ERROR', `Tool '${name}' is blocked by network policy. ${refusal}`)
}

const FAILURES = 5
const OPEN_MS = 30_000
/** Assumed duration of a trial call, for callers that arrive meanwhile. */
const TRIAL_MS = 1_000

/** How many tenants with failures a tool remembers. */
const MAX_CIRCUITS = 1_000

interface CircuitOptions {
  readonly tool: string
  readonly tenant?: string
  /** Consecutive failures that open the circuit; 5 by default. */
  readonly failures?: number | undefined
  /** How long the circuit stays open; 30 s by default. */
  readonly openMs?: number | undefined
  readonly clock?: Clock
  readonly log?: Log
}

const CLOSED: CircuitState = Object.freeze({ state: 'closed', failures: 0 })
const BY_SEVERITY = ['closed', 'half_open', 'open'] as const

/**
 * One circuit per tenant: a tenant whose own calls fail must not take the service from others. If the service is down,
 * the circuit of each tenant that calls it opens. Only tenants with failures have one.
 */
export class Circuits {
  readonly #options: CircuitOptions
  readonly #circuits = new LRUCache<string, Circuit>({ max: MAX_CIRCUITS })

  constructor(options: CircuitOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#circuits.size
  }

  run<Value>(tenant: string, attempt: () => Promise<Value>): Promise<Value> {
    const circuit = this.#circuits.get(tenant)
    return (circuit === undefined ? attempt() : circuit.run(attempt)).then(
      (value) => {
        if (this.#circuits.size > 0) this.#succeeded(tenant)
        return value
      },
      (thrown) => {
        // A success of another call may have removed the circuit meanwhile.
        if (circuit !== undefined && !circuit.isNew && !this.#circuits.has(tenant)) this.#circuits.set(tenant, circuit)
        if (circuit !== undefined || !isFailure(thrown)) throw thrown
        return this.#of(tenant).failed(thrown)
      },
    )
  }

  state(tenant: string | undefined): CircuitState {
    if (tenant !== undefined) return this.#circuits.peek(tenant)?.state() ?? CLOSED
    const rank = ({ state }: CircuitState): number => BY_SEVERITY.indexOf(state)
    let worst = CLOSED
    for (const circuit of this.#circuits.values()) {
      const state = circuit.state()
      if (rank(state) > rank(worst) || (rank(state) === rank(worst) && state.failures > worst.failures)) worst = state
    }
    return worst
  }

  #of(tenant: string): Circuit {
    const circuit = this.#circuits.get(tenant) ?? new Circuit({ ...this.#options, tenant })
    this.#circuits.set(tenant, circuit)
    return circuit
  }

  #succeeded(tenant: string): void {
    const circuit = this.#circuits.peek(tenant)
    circuit?.succeeded()
    if (circuit?.isNew) this.#circuits.delete(tenant)
  }
}

/**
 * Stops calling a service that failed several times in a row, and then lets one call at a time test it. The states are
 * cockatiel's. Time comes from our monotonic clock, since a changed wall clock must not keep a circuit open. Successful
 * calls bypass cockatiel while the circuit is closed.
 */
export class Circuit {
  readonly #tool: string
  readonly #tenant: string | undefined
  readonly #openMs: number
  readonly #clock: Clock
  readonly #log: Log
  readonly #breaker: ConsecutiveBreaker
  readonly #policy: CircuitBreakerPolicy
  #retryAt = 0
  #since = 0

  constructor(options: CircuitOptions) {
    this.#tool = options.tool
    this.#tenant = options.tenant
    this.#openMs = options.openMs ?? OPEN_MS
    this.#clock = options.clock ?? systemClock
    this.#log = options.log ?? silentLog
    this.#breaker = new ConsecutiveBreaker(options.failures ?? FAILURES)
    this.#policy = circuitBreaker(
      handleWhen((error) => isFailure(error) || (this.#policy.state === State.HalfOpen && !isAnswer(error))),
      // The pause is checked before the policy is asked.
      { breaker: this.#breaker, halfOpenAfter: Number.NEGATIVE_INFINITY },
    )
    this.#policy.onBreak((reason) => this.#opened('error' in reason && isFailure(reason.error)))
    this.#policy.onReset(() => this.#closed())
    this.#policy.onHalfOpen(() => {
      this.#since = this.#clock.wall()
    })
  }

  run<Value>(attempt: () => Promise<Value>): Promise<Value> {
    if (this.#policy.state === State.Closed) return attempt().then(this.#passed<Value>, this.failed)
    const waitMs = this.#waitMs()
    if (waitMs > 0) return Promise.reject(this.#refusal(waitMs))
    return this.#policy.execute(attempt)
  }

  /** The current state. An open circuit with `retry_in_ms: 0` allows the next call. */
  state(): CircuitState {
    const { state: failures } = this.#breaker
    if (this.#policy.state === State.Closed) return { state: 'closed', failures }
    const since = this.#since
    if (this.#policy.state === State.HalfOpen) return { state: 'half_open', failures, since }
    return { state: 'open', failures, retry_in_ms: this.#waitMs(), since }
  }

  /** Whether it is as if it had just been created. */
  get isNew(): boolean {
    return this.#policy.state === State.Closed && this.#breaker.state === 0
  }

  /** Counts a success of a call that didn't `run` here. */
  succeeded(): void {
    // A call that started before the circuit opened says nothing about the current state.
    if (this.#breaker.state > 0 && this.#policy.state === State.Closed) this.#breaker.success()
  }

  readonly #passed = <Value>(value: Value): Value => {
    this.succeeded()
    return value
  }

  /** Counts a failure of a call that didn't `run` here. Rejects with its error. */
  readonly failed = (thrown: unknown): Promise<never> => {
    if (!isFailure(thrown) || this.#policy.state !== State.Closed) return Promise.reject(thrown)
    return this.#policy.execute(() => Promise.reject(thrown))
  }

  #waitMs(): number {
    if (this.#policy.state === State.HalfOpen) return TRIAL_MS
    return Math.max(0, this.#retryAt - this.#clock.now())
  }

  #refusal(afterMs: number): ToolExecutionError {
    const { state: failures } = this.#breaker
    const times = failures === 1 ? 'once' : `${failures} times in a row`
    const message = `The service behind tool '${this.#tool}' is unavailable: it failed ${times}. Try again in ${Math.ceil(afterMs / 1000)} s.`
    return new ToolExecutionError('SERVICE_UNAVAILABLE', message, {}, { repeat: { neverLeft: true, afterMs } })
  }

  #opened(failed: boolean): void {
    this.#since = this.#clock.wall()
    if (!failed) {
      // A cancelled trial has no result: the next caller may try at once.
      this.#breaker.state--
      return
    }
    this.#retryAt = this.#clock.now() + this.#openMs
    const fields = { tool: this.#tool, tenant: this.#tenant, failures: this.#breaker.state, open_ms: this.#openMs }
    writeLog(this.#log, 'warn', fields, 'Circuit open: the service is not called for a while')
  }

  #closed(): void {
    writeLog(
      this.#log,
      'info',
      { tool: this.#tool, tenant: this.#tenant },
      'Circuit closed: the service responds again',
    )
  }
}

/** Whether the service failed. A refusal isn't a failure. */
const isFailure = (thrown: unknown): boolean =>
  thrown instanceof ToolExecutionError && (thrown.code === 'SERVICE_UNAVAILABLE' || thrown.code === 'TIMEOUT')

/** Whether the service responded, even with an error. */
const isAnswer = (thrown: unknown): boolean =>
  thrown instanceof ToolExecutionError && (thrown.code === 'EXECUTION_ERROR' || thrown.code === 'RESULT_TOO_LARGE')
