import type { Log } from '../core/log.ts'

/** A logged line. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A log for tests that records its lines. */
export interface CapturedLog extends Log {
  readonly lines: LogLine[]
  /** The fields of all lines with a level. */
  at(level: LogLine['level']): LogLine['fields'][]
}

/** Creates a log that records its lines. */
export function captureLog(): CapturedLog {
  const lines: LogLine[] = []
  const recordAt = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } })
  }
  return {
    lines,
    at: (level) => lines.filter((line) => line.level === level).map((line) => line.fields),
    debug: recordAt('debug'),
    info: recordAt('info'),
    warn: recordAt('warn'),
    error: recordAt('error'),
    isLevelEnabled: () => true,
  }
}
