import type { CallContext } from '../../core/call-context.ts'
import type { LogLevel } from './report-reader.ts'

/** Who is at the other end of a connection. A session looks its rights up anew for every request. */
export interface Caller {
  context: CallContext
  /** From which level on it wants to be told what tools log; undefined: not at all. */
  logLevel: LogLevel | undefined
}

/** The caller that a context stands for. */
export const callerOf = (context: CallContext): Caller => ({ context, logLevel: undefined })
