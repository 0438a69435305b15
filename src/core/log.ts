/** Where the executor writes: any pino logger fits. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  isLevelEnabled(level: string): boolean
}

/** Writes a line that nothing depends on: a log that fails fails nothing else. */
export function writeLog(log: Log, level: 'debug' | 'info' | 'warn' | 'error', fields: object, message: string): void {
  try {
    log[level](fields, message)
  } catch {
    // There is nowhere left to say so.
  }
}

const nothing = (): void => {}

/** A log that keeps nothing. */
export const silentLog: Log = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  isLevelEnabled: () => false,
}
