import type { Writable } from 'node:stream'
import { pino } from 'pino'
import type { Log } from '../core/log.ts'

/** How much is collected before it is written, and how long it may lie there. */
const BUFFER_BYTES = 8 * 1024
const FLUSH_MS = 500

/** A log on stderr. */
export type WrittenLog = Log & {
  /** Writes what has been collected. */
  flush(): void
}

interface LogOptions {
  /** Collects records and writes them in pieces, shortly after: for servers. */
  readonly buffered?: boolean
  /** Gets the records instead of stderr. */
  readonly stream?: Writable
}

/** A structured log on stderr, one record a line. stdout belongs to protocols and results. */
export function createLog(
  level = process.env.TOOLYARD_LOG || 'info',
  { buffered = false, stream }: LogOptions = {},
): WrittenLog {
  if (!(level in pino.levels.values) && level !== 'silent') {
    const known = [...Object.keys(pino.levels.values), 'silent'].join(', ')
    throw new TypeError(`Unknown log level "${level}": TOOLYARD_LOG takes one of ${known}`)
  }
  if (stream !== undefined) return Object.assign(pino({ level, base: null }, stream), { flush: () => {} })
  const destination = pino.destination({ dest: 2, sync: !buffered, ...(buffered && { minLength: BUFFER_BYTES }) })
  const log = pino({ level, base: null }, destination)
  if (buffered) {
    setInterval(() => destination.flush(), FLUSH_MS).unref()
    process.on('exit', () => destination.flushSync())
  }
  return Object.assign(log, { flush: () => destination.flushSync() })
}
