import { pino } from 'pino'
import type { Log } from '../core/log.ts'

/** A structured log on stderr, one record a line. stdout belongs to protocols and results. */
export function createLog(level = process.env.TOOLYARD_LOG || 'info'): Log {
  if (!(level in pino.levels.values) && level !== 'silent') {
    const known = [...Object.keys(pino.levels.values), 'silent'].join(', ')
    throw new TypeError(`Unknown log level "${level}": TOOLYARD_LOG takes one of ${known}`)
  }
  return pino({ level, base: null }, pino.destination({ dest: 2, sync: true }))
}
