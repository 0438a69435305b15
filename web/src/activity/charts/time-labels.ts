import type { MetricWindow } from '../../../../src/core/storage/ledger.ts'

const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const day = new Intl.DateTimeFormat('en', { weekday: 'short', hour: '2-digit', hourCycle: 'h23' })
const full = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})

const date = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })

/** Buckets of a window, or days of UTC. */
export type Buckets = MetricWindow | 'days'

/** A full timestamp in local time; a day has none. */
export const atTime = (iso: string, window?: Buckets): string => (window === 'days' ? date : full).format(new Date(iso))

/** A short label for the axis. */
export const onAxis = (iso: string, window: Buckets): string =>
  window === 'days'
    ? date.format(new Date(iso))
    : window === '7d'
      ? `${day.format(new Date(iso))} h`
      : clock.format(new Date(iso))
