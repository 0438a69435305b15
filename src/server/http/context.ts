import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Caller, Callers } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import type { CallContext } from '../../core/call-context.ts'
import type { Cancellation } from '../../core/cancellation.ts'
import { Linked } from '../../core/linked.ts'
import { readChain } from '../../kinds/composite/agent.ts'
import type { Prometheus } from '../../telemetry/prometheus.ts'
import type { Authenticator } from './authenticator.ts'
import type { Streams } from './event-stream.ts'
import { HttpProblem } from './problem.ts'
import type { NeededScope } from './route.ts'

const MAX_SESSION_LENGTH = 200

declare module 'fastify' {
  interface FastifyInstance {
    readonly installation: Installation
    readonly packageVersion: string
    readonly prometheus: Prometheus
    readonly authenticator: Authenticator
    readonly streams: Streams
    readonly traffic: Traffic
  }
  interface FastifyRequest {
    /** Only on routes that have a scope. */
    caller: Caller
  }
  interface FastifyContextConfig {
    /** The scope that the caller needs; null: the route is public. */
    readonly scope?: NeededScope | null
    /** Whether a key may act for a user here, with the header Toolyard-User. */
    readonly actsFor?: boolean
    /** Whether it is an endpoint of MCP: `/mcp` or `/mcp/:name`. Tokens can be for one of them only. */
    readonly isMcp?: boolean
    /** Clients may stay connected indefinitely: a shutdown does not wait for them. */
    readonly stays?: boolean
  }
}

/** The requests and tool calls that this server is working on. A shutdown waits for them. */
export class Traffic {
  /** Running tool calls and runs of models. */
  readonly calls = new Linked<{ readonly call: Cancellation; readonly caller: string }>()
  readonly #callers: Pick<Callers, 'isValid'>
  #requests = 0
  #draining = false

  constructor(callers: Pick<Callers, 'isValid'>) {
    this.#callers = callers
  }

  /** True once the server is shutting down. */
  get draining(): boolean {
    return this.#draining
  }

  get busy(): boolean {
    return this.calls.size > 0 || this.#requests > 0
  }

  drain(): void {
    this.#draining = true
  }

  /** Counts a request until its response is closed. */
  count(response: ServerResponse): void {
    this.#requests++
    response.on('close', this.#ended)
  }

  readonly #ended = (): void => {
    this.#requests--
  }

  /** Lets a call be cancelled with its caller. Returns a function to call when it has ended. */
  begin(call: Cancellation, caller: string): () => void {
    const end = this.calls.add({ call, caller })
    // The key may have ended since the request was authenticated.
    if (!this.#callers.isValid(caller)) call.abort(undefined)
    return end
  }

  /** Cancels the calls of these callers, or all. */
  cancelCalls(callers?: ReadonlySet<string>): void {
    for (const { call, caller } of this.calls) if (callers?.has(caller) !== false) call.abort(undefined)
  }
}

/** The call context of a request: its caller, and the session it names. */
export function contextOfRequest(
  { caller, headers }: FastifyRequest,
  { callers, clock }: Installation,
  source: CallContext['source'],
  session?: string,
): CallContext {
  const context = callers.context(caller, source, sessionName(session ?? headers['x-session-id']))
  const parent = readChain(headers, clock.now())
  return parent === undefined ? context : { ...context, parent }
}

/** The session name, truncated; undefined if it is empty or not a string. */
export function sessionName(given: unknown): string | undefined {
  return typeof given === 'string' && given !== '' ? given.slice(0, MAX_SESSION_LENGTH) : undefined
}

/** The query parameter that selects another tenant. */
export const TENANT_QUERY = {
  tenant: {
    type: 'string',
    minLength: 1,
    maxLength: 64,
    description: "Another tenant, or * for all. Needs the scope 'installation'. Default: your own tenant.",
  },
} as const

/** The tenant whose data a request may read; undefined means all tenants. Throws 403 if the caller may not. */
export function tenantAsked({ caller, server }: FastifyRequest, tenant: string | undefined): string | undefined {
  if (tenant === undefined || tenant === caller.tenant) return caller.tenant
  if (!caller.scopes.has('installation')) {
    server.installation.events.crossed(caller, 'tenant', tenant)
    throw new HttpProblem(403, "Only a key with the scope 'installation' may ask for other tenants")
  }
  return tenant === '*' ? undefined : tenant
}

/** The query parameter of routes that read the data of one tenant. */
export const ONE_TENANT_QUERY = {
  tenant: { ...TENANT_QUERY.tenant, description: "Another tenant. Needs the scope 'installation'. Default: your own." },
} as const

/** The tenant whose data a request may read, for data that is stored per tenant. Throws 400 for `*`. */
export function oneTenantAsked(request: FastifyRequest, asked: string | undefined, what: string): string {
  const tenant = tenantAsked(request, asked)
  if (tenant !== undefined) return tenant
  throw new HttpProblem(400, `${what} are listed for one tenant at a time`, 'send its name as ?tenant=')
}
