/** Where the executor writes: any pino logger fits. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  isLevelEnabled(level: string): boolean
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
