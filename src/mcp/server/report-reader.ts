/** What a client can tell apart in a log, the least urgent first. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

export type LogLevel = (typeof LEVELS)[number]

/** What names a call in notices of its progress. */
export type ProgressToken = string | number

/** A message that needs no answer. */
export interface Notice {
  readonly method: 'notifications/progress' | 'notifications/message'
  readonly params: Readonly<Record<string, unknown>>
}

/**
 * Turns what a handler reports into notices for its client. A number, a text or `{progress, total?, message?}` is
 * progress; `{level, data, logger?}` is a line of a log. What the client has not asked for gives nothing.
 */
export class ReportReader {
  readonly #token: ProgressToken | undefined
  readonly #level: LogLevel | undefined
  #last = -1

  constructor(token: ProgressToken | undefined, level: LogLevel | undefined) {
    this.#token = token
    this.#level = level
  }

  read(report: unknown): Notice | undefined {
    const fields = Object(report) as { level?: unknown; data?: unknown; logger?: unknown }
    return isLevel(fields.level) ? this.#log(fields.level, fields) : this.#progress(report)
  }

  #log(level: LogLevel, { data, logger }: { data?: unknown; logger?: unknown }): Notice | undefined {
    if (this.#level === undefined || LEVELS.indexOf(level) < LEVELS.indexOf(this.#level)) return undefined
    const params = { level, ...(typeof logger === 'string' && { logger }), data: data ?? null }
    return { method: 'notifications/message', params }
  }

  #progress(report: unknown): Notice | undefined {
    if (this.#token === undefined) return undefined
    const { progress, total, message } = readProgress(report)
    const value = progress ?? this.#last + 1
    // The protocol wants it to grow: what does not is no news.
    if (value <= this.#last) return undefined
    this.#last = value
    const params = {
      progressToken: this.#token,
      progress: value,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    }
    return { method: 'notifications/progress', params }
  }
}

export const isLevel = (value: unknown): value is LogLevel => LEVELS.includes(value as LogLevel)

function readProgress(report: unknown): { progress?: number; total?: number; message?: string } {
  if (isNumber(report)) return { progress: report }
  if (typeof report === 'string') return { message: report }
  const { progress, total, message } = Object(report) as Record<string, unknown>
  return {
    ...(isNumber(progress) && { progress }),
    ...(isNumber(total) && { total }),
    ...(typeof message === 'string' && { message }),
  }
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
