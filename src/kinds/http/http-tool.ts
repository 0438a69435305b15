import type { Agent } from 'undici'
import type { Clock } from '../../core/clock.ts'
import { DeadlineWheel } from '../../core/deadline-wheel.ts'
import type { HandlerContext } from '../../core/handler.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { redactText } from '../../core/redact.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { CircuitState } from '../../core/tool-health.ts'
import { type AuthPlan, compileAuth } from './auth/compile-auth.ts'
import { AccessTokens } from './auth/token-source.ts'
import { Circuit } from './circuit.ts'
import type { HttpImplementation, HttpSettings } from './definition/http-implementation.ts'
import { exchange, type SendOptions } from './exchange/exchange.ts'
import type { HttpResponse, OutgoingRequest } from './exchange/outgoing-request.ts'
import { send } from './exchange/send.ts'
import { guardedAgent } from './network/guarded-agent.ts'
import { NetworkRules, type ToolNetwork } from './network/network-rules.ts'
import { expandImplementation } from './request/expand-implementation.ts'
import { compileRequest, type RequestPlan } from './request/request-plan.ts'
import { Pages } from './response/pages.ts'
import { type Reading, readResponse } from './response/read-response.ts'
import { ResponseShape } from './response/response-shape.ts'

/** What HTTP tools need from the installation. */
export interface HttpParts {
  readonly settings: HttpSettings
  /** Values for `${VAR}`. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: Log
  readonly clock: Clock
}

/** Connections, network rules and tokens shared by the HTTP tools of an installation. */
export class HttpClient {
  readonly parts: HttpParts
  readonly rules: NetworkRules
  readonly agent: Agent
  readonly wheel: DeadlineWheel
  readonly tokens: AccessTokens

  constructor(parts: HttpParts) {
    this.parts = parts
    this.rules = new NetworkRules(parts.settings)
    this.agent = guardedAgent(this.rules.addresses, { clock: parts.clock })
    this.wheel = new DeadlineWheel(parts.clock)
    this.tokens = new AccessTokens(parts.clock)
  }

  /** Closes all connections. */
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
  readonly #circuit: Circuit
  readonly #reading: Reading
  readonly #pages: Pages | undefined
  /** Send options without the signal of the call. */
  readonly #sending: Omit<SendOptions, 'signal'>

  /** Throws if the implementation is invalid or its URL is blocked by network policy. */
  constructor(tool: ToolDefinition, client: HttpClient) {
    const { clock, env, log } = client.parts
    const plan = compileRequest(tool, env)
    const { implementation } = expandImplementation(tool.implementation as HttpImplementation, env)
    this.#name = tool.name
    this.#client = client
    this.#plan = plan
    this.#network = networkOf(tool.name, plan, implementation, client)
    this.#sending = {
      agent: client.agent,
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
      secrets: plan.secrets,
      tokens: client.tokens,
      refusal: (url) => client.rules.forTool(url, implementation.allowed_domains).refusal(url),
      ask: (request, signal) =>
        exchange(request, { ...this.#sending, signal }, clock.now() + this.#sending.timeoutMs, false),
    })
    const { failures, open_ms: openMs } = implementation.circuit_breaker ?? {}
    this.#circuit = new Circuit({ tool: tool.name, failures, openMs, clock, log })
    const shape = new ResponseShape(tool.name, implementation, log)
    this.#reading = { tool: tool.name, method: plan.method, shape, clock }
    const { pagination } = implementation
    this.#pages = pagination && new Pages(pagination, implementation, this.#reading, log)
  }

  get circuit(): CircuitState {
    return this.#circuit.state()
  }

  /** Calls the service, unless its circuit is open. */
  call(params: Params, context: HandlerContext): Promise<unknown> {
    const request = this.#plan.build(params)
    return this.#circuit.run(() =>
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
    const { tenant, signal } = context
    const own = request.origin === this.#plan.origin
    let sent = own ? this.#auth.apply(request, tenant, signal) : request
    if (sent instanceof Promise) sent = await sent
    let response = await this.#send(sent, context)
    if (response.status === 401 && own && this.#auth.refused(sent, tenant)) {
      sent = await this.#auth.apply(request, tenant, signal)
      response = await this.#send(sent, context)
    }
    return { response, sent }
  }

  async #send(request: OutgoingRequest, { signal }: HandlerContext): Promise<HttpResponse> {
    const { log, clock } = this.#client.parts
    const began = clock.now()
    const response = await send(request, { ...this.#sending, signal })
    if (log.isLevelEnabled('info')) {
      const fields = {
        tool: this.#name,
        method: request.method,
        origin: request.origin,
        // Parameters may contain secrets and have any length.
        path: redactText(this.#auth.secretsOf(request).scrub(request.path)),
        status: response.status,
        bytes: response.body.length,
        duration_ms: Math.round((clock.now() - began) * 1_000) / 1_000,
      }
      writeLog(log, 'info', fields, 'HTTP request answered')
    }
    return response
  }
}

function networkOf(
  name: string,
  { url }: RequestPlan,
  { allowed_domains }: HttpImplementation,
  { rules }: HttpClient,
): ToolNetwork {
  const network = rules.forTool(url, allowed_domains)
  const refusal = network.refusal(url)
  if (refusal === undefined) return network
  throw new ToolExecutionError('EXECUTION_ERROR', `Tool '${name}' is blocked by network policy. ${refusal}`)
}
