import type { Log } from './log.ts'
import type { Params } from './tool.ts'

/** What a handler may use besides its parameters; all of it is optional to use. */
export interface HandlerContext {
  /** Aborts when the deadline has passed or the caller has gone away. */
  readonly signal: AbortSignal
  readonly tenant: string
  readonly flags: Readonly<Record<string, boolean>>
  /** Tells whoever listens how far the work is. */
  report(progress: unknown): void
  readonly log: Log
  /** The W3C trace context of this call, to be sent to whoever does part of its work. */
  readonly traceparent?: string | undefined
}

/** The code behind a tool: returns any JSON value, or a promise of one. */
export type Handler = (params: Params, context: HandlerContext) => unknown

/** A handler that runs in a process of its own: a module and the function it exports, called as any handler. */
export interface IsolatedHandler {
  /** A `file:` URL. */
  readonly module: string
  readonly export: string
}
