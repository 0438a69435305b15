import type { Log } from '../core/log.ts'

/** One line that was logged. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A log that keeps its lines, for tests. */
export function captureLog(): Log & { readonly lines: LogLine[] } {
  const lines: LogLine[] = []
  const at = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } })
  }
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    isLevelEnabled: () => true,
  }
}
