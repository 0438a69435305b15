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

/** A time of a chart in full, in the time of this machine. */
export const atTime = (iso: string): string => full.format(new Date(iso))

/** The same on an axis, as short as the window allows. */
export const onAxis = (iso: string, window: MetricWindow): string =>
  window === '7d' ? `${day.format(new Date(iso))} h` : clock.format(new Date(iso))
