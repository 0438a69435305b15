import type { ToolFigures } from '../../../src/core/records/tool-metrics.ts'

const whole = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

/** 0.42 ms, 12 ms, 1.3 s. Clocks of browsers don't tell less than 0.1 ms from nothing. */
export function inTime(ms: number): string {
  if (ms < 0.1) return '< 0.1 ms'
  if (ms < 1_000) return `${short.format(ms)} ms`
  return ms < 60_000 ? `${short.format(ms / 1_000)} s` : `${short.format(ms / 60_000)} min`
}

export const inPercent = (part: number): string => `${short.format(Math.floor(part * 1_000) / 10)} %`

/** The share of successful calls. Calls that wait for approval are neither successes nor failures. */
export function successRate({ total, success_rate, errors }: Pick<ToolFigures, 'total' | 'success_rate' | 'errors'>) {
  const ended = total - (errors.APPROVAL_REQUIRED ?? 0)
  // Products of shares are not exact.
  return ended > 0 ? Math.round(((success_rate * total) / ended) * 1e9) / 1e9 : undefined
}

/** The share of successful calls, or a dash if no call has ended. */
export function inSuccess(figures: Parameters<typeof successRate>[0]): string {
  const rate = successRate(figures)
  return rate === undefined ? '–' : inPercent(rate)
}

/** 68.3 %: to the nearest tenth, like benchmark results. */
export const inTenths = (part: number): string => `${(part * 100).toFixed(1)} %`
/** 640 B, 12 kB, 1.05 MB. */
export function inBytes(bytes: number): string {
  if (bytes < 1_000) return `${whole.format(bytes)} B`
  return bytes < 1_000_000 ? `${short.format(bytes / 1_000)} kB` : `${short.format(bytes / 1_000_000)} MB`
}

export const inNumber = (number: number): string => whole.format(number)
let currency = 'USD'
/** Sets the currency of all costs, which the server has one of. */
export const payIn = (code = 'USD'): void => {
  currency = code
}
export const inMoney = (cost: number): string =>
  currency === 'USD' ? `$${short.format(cost)}` : `${short.format(cost)} ${currency}`
/** Nov 18, 2026, 12:21:29: the same clock as in lists. */
export const inDate = (iso: string): string => date.format(new Date(iso))
const date = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' })
const moment = new Intl.DateTimeFormat('en', {
  ...{ month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
} as const)
/** Nov 18, 12:21:29: for lists, whose rows are recent. */
export const inMoment = (iso: string): string => moment.format(new Date(iso))
/** A day without a time is the same day everywhere. */
export const inDay = (day: string): string =>
  new Date(day).toLocaleDateString('en', { dateStyle: 'medium', timeZone: 'UTC' })
export const count = (number: number, what: string): string => `${inNumber(number)} ${what}${number === 1 ? '' : 's'}`
