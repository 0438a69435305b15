import type { Count } from './validation-report.ts'

/** `75% (3/4) ≥30%`, and what was not judged beside it. */
export function cellText({ passed, failed, not_answered, not_run, rate, lower_bound }: Count): string {
  const judged =
    rate === null ? 'none judged' : `${percent(rate)} (${passed}/${passed + failed}) ≥${percent(lower_bound ?? 0)}`
  const rest = [
    ...(not_answered > 0 ? [`${not_answered} not answered`] : []),
    ...(not_run > 0 ? [`${not_run} not run`] : []),
  ]
  return [judged, ...rest].join(', ')
}

/** Never rounded up to all, nor down to nothing. */
export function percent(rate: number): string {
  const whole = Math.round(rate * 100)
  if (whole === 100 && rate < 1) return '99%'
  if (whole === 0 && rate > 0) return '1%'
  return `${whole}%`
}
