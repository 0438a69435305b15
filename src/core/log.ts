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

const nothing = (): void => {}

export const silentLog: Log = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  isLevelEnabled: () => false,
}
