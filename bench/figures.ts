import type { Spread } from './statistics.ts'

/** A number with three figures that matter, and thousands set apart. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const size = Math.abs(value)
  if (size >= 100) return Math.round(value).toLocaleString('en-GB')
  return value.toFixed(size >= 10 ? 1 : 2)
}

/** How many there are of something. */
export const count = (value: number): string => value.toLocaleString('en-GB')

/** The middle and, in brackets, the smallest and the largest, where there was more than one measurement. */
export const withRange = ({ median, min, max }: Spread): string =>
  min === max ? figure(median) : `${figure(median)} (${figure(min)}–${figure(max)})`
