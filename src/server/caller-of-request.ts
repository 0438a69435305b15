import type { FastifyRequest } from 'fastify'
import type { Caller } from '../config/callers/caller.ts'
import type { Scope } from '../config/callers/scopes.ts'
import type { Installation } from '../config/installation.ts'
import type { CallContext } from '../core/call-context.ts'

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
