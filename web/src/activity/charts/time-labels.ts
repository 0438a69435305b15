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

/** A full timestamp in local time. */
export const atTime = (iso: string): string => full.format(new Date(iso))

/** A short label for the axis. */
export const onAxis = (iso: string, window: MetricWindow): string =>
  window === '7d' ? `${day.format(new Date(iso))} h` : clock.format(new Date(iso))
