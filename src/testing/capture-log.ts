import type { Log } from '../core/log.ts'

/** One line that was logged. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A log that keeps its lines, for tests. */
export interface CapturedLog extends Log {
  readonly lines: LogLine[]
  /** The fields of what was logged at a level. */
  at(level: LogLine['level']): LogLine['fields'][]
}

/** Gives a log that keeps its lines. */
export function captureLog(): CapturedLog {
  const lines: LogLine[] = []
  const keep = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } })
  }
  return {
    lines,
    at: (level) => lines.filter((line) => line.level === level).map((line) => line.fields),
    debug: keep('debug'),
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
    isLevelEnabled: () => true,
  }
}
