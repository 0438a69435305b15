import { inspect } from 'node:util'
import { type Log, type LogLevel, silentLog } from '../core/log.ts'
import { redactedRecord } from '../core/records/redact.ts'

/** A pino logger, `console`, or the level of a log on stderr. */
export type GivenLog = Log | Pick<Console, LogLevel> | { readonly level: string }

/** Without a log, nothing is printed. */
export function asLog(given: GivenLog | undefined): Log {
  if (given === undefined) return silentLog
  if (typeof given === 'object' && given !== null) {
    if ('isLevelEnabled' in given) return given
    if ('info' in given) return consoleLog(given)
    if ('level' in given) return stderrLog(given.level)
  }
  throw new TypeError(`log must be a pino logger, console or {level: 'info'}, not ${inspect(given, { depth: 0 })}`)
}

/** A console takes the message first. Debug messages are for loggers with levels. */
function consoleLog(console: Pick<Console, LogLevel>): Log {
  const at = (level: LogLevel) => (fields: object, message: string) => console[level](message, fields)
  const isLevelEnabled = (level: string) => level !== 'debug'
  return { debug: () => {}, info: at('info'), warn: at('warn'), error: at('error'), isLevelEnabled }
}

const LEVELS: Readonly<Record<string, number>> = { debug: 20, info: 30, warn: 40, error: 50, silent: 100 }

/** Writes the format of pino, without its packages. */
function stderrLog(given: string): Log {
  const least = Object.hasOwn(LEVELS, given) ? (LEVELS[given] as number) : undefined
  if (least === undefined) {
    throw new TypeError(`Unknown log level "${given}": log.level takes one of ${Object.keys(LEVELS).join(', ')}`)
  }
  const isLevelEnabled = (level: string) => (LEVELS[level] ?? 0) >= least
  const write = (record: string) => void process.stderr.write(`${record}\n`)
  const recordOf = (level: LogLevel, fields: string, message: string) =>
    `{"level":${LEVELS[level]},"time":${Date.now()}${fields && `,${fields}`},"msg":${JSON.stringify(message)}}`
  // Records of calls are redacted already.
  const writeJson = (level: LogLevel, fields: string, message: string) => write(recordOf(level, fields, message))
  const at = (level: LogLevel) => (fields: object, message: string) => {
    if (isLevelEnabled(level)) write(redactedRecord(recordOf(level, jsonOf(fields).slice(1, -1), message)))
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), isLevelEnabled, writeJson }
}

function jsonOf(fields: object): string {
  const withErrors = (_key: string, value: unknown) =>
    value instanceof Error ? { type: value.name, message: value.message, stack: value.stack } : value
  try {
    return JSON.stringify({ ...fields }, withErrors)
  } catch {
    // A cycle or a BigInt.
    return JSON.stringify({ fields: inspect(fields) })
  }
}
