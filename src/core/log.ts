import { foreignText } from './json/json-depth.ts'
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** Any pino logger fits. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  isLevelEnabled(level: string): boolean
  /** Optional: writes a record whose fields are JSON text already, without the braces. */
  writeJson?(level: LogLevel, fields: string, message: string): void
}

/** Writes to a log. A failing log must not fail anything else. */
export function writeLog(log: Log, level: LogLevel, fields: object, message: string): void {
  try {
    log[level](fields, message)
  } catch {
    // There is no other place to report it.
  }
}

/** The name of a class or a code such as `ECONNREFUSED`. */
const NAME = /^[A-Za-z][A-Za-z_]{0,40}$/
const NUMBER = /^-?\d{1,5}$/

/** What the log says of an error whose message may repeat the parameters of a call. */
export function errorKind(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown
  const { name, code, status } = thrown as Error & { readonly code?: unknown; readonly status?: unknown }
  return [name, code, status]
    .map(foreignText)
    .filter((part) => part !== 'undefined' && (NAME.test(part) || NUMBER.test(part)))
    .join(' ')
}

const nothing = (): void => {}

export const silentLog: Log = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  isLevelEnabled: () => false,
}
