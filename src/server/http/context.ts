import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../config/callers/caller.ts'
import type { Scope } from '../../config/callers/scopes.ts'
import type { Installation } from '../../config/installation.ts'
import type { CallContext } from '../../core/call-context.ts'
import type { Cancellation } from '../../core/cancellation.ts'
import { HttpProblem } from './problem.ts'

/** What this server is busy with, so that it can end without cutting anything short. */
export class Traffic {
  /** Calls of tools; they can be called off. */
  readonly calls = new Set<Cancellation>()
  #requests = 0
  #draining = false

  /** True when no more requests are taken. */
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

  /** Calls off all calls that still run. */
  cancelCalls(): void {
    for (const call of this.calls) call.abort(undefined)
  }
}

/** How long a question waits for the newest records: a store that lags is asked for what it has. */
const PATIENCE_MS = 2_000

/** Waits until the calls that have been answered are on record, so that who asks next finds them. */
export async function settleRecords({ manager, sink, clock }: Installation): Promise<void> {
  manager.getExecutor().flush()
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const callOff = clock.after(PATIENCE_MS, resolve)
  await Promise.race([sink.flush(), late])
  callOff()
}

/** The part of a query by which one who may see the whole installation asks for others than its own tenant. */
export const TENANT_QUERY = {
  tenant: {
    type: 'string',
    minLength: 1,
    maxLength: 64,
    description: "Another tenant, or * for all: only with the scope 'installation'. Your own if not given.",
  },
} as const

/** Whose figures or records a request may have: those of one tenant, or, as undefined, of all. */
export function tenantAsked({ caller }: FastifyRequest, tenant: string | undefined): string | undefined {
  if (tenant === undefined || tenant === caller.tenant) return caller.tenant
  if (!caller.scopes.has('installation')) {
    throw new HttpProblem(403, "Only a key with the scope 'installation' may ask for other tenants")
  }
  return tenant === '*' ? undefined : tenant
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent it; only on routes that have a scope. */
    caller: Caller
  }
  interface FastifyContextConfig {
    /** What the caller must be allowed; null: the route is for everybody. */
    readonly scope?: Scope | null
    /** A client may stay here for as long as it likes: the end of the server does not wait for it. */
    readonly stays?: boolean
  }
}

const LONGEST_SESSION = 200

/** What the calls that a request asks for are made with. */
export function contextOfRequest(
  { caller, headers }: FastifyRequest,
  { callers }: Installation,
  source: CallContext['source'],
  session?: string,
): CallContext {
  return callers.context(caller, source, sessionName(session ?? headers['x-session-id']))
}

/** A session is counted by its name: one that is no text, empty or endless is none. */
export function sessionName(given: unknown): string | undefined {
  return typeof given === 'string' && given !== '' ? given.slice(0, LONGEST_SESSION) : undefined
}
