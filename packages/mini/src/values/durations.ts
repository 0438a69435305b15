const SECONDS: Readonly<Record<string, number>> = {
  second: 1,
  minute: 60,
  hour: 3_600,
  day: 86_400,
  week: 604_800,
  month: 2_592_000,
  year: 31_536_000,
  decade: 315_360_000,
  century: 3_153_600_000,
}
const UNITS = Object.keys(SECONDS).join('|')
const AFTER = new RegExp(`^[\\s-]*(${UNITS})s?\\b`, 'i')
/** The unit of time that a parameter counts in. */
export function timeUnit(name: string, description: string): string | undefined {
  const words = `${name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').replaceAll('_', ' ')} `.toLowerCase()
  const found =
    new RegExp(`\\b(${UNITS})s\\b`).exec(words) ??
    new RegExp(`(?:number of (?:\\w+ )?|in |how many )(${UNITS})s\\b`).exec(description.toLowerCase())
  return found?.[1]
}

/** The unit of time after a number. */
export const timeAfter = (said: string, to: number): string | undefined =>
  AFTER.exec(said.slice(to, to + 12))?.[1]?.toLowerCase()

/** "2 weeks" in days, "36 months" in years: converts a number with the unit at this position. */
export function inTimeUnit(value: number, said: string, to: number, unit: string): number {
  const found = timeAfter(said, to)
  if (found === undefined || found === unit) return value
  const factor = whole((SECONDS[found] as number) / (SECONDS[unit] as number))
  if (factor !== undefined) return value * factor
  const parts = whole((SECONDS[unit] as number) / (SECONDS[found] as number))
  return parts === undefined ? value : Number((value / parts).toPrecision(6))
}

/** A year holds 365 days but 12 months of 30. */
function whole(value: number): number | undefined {
  const near = Math.abs(value - 12.1667) < 0.1 ? 12 : Math.abs(value - 121.667) < 0.1 ? 120 : value
  return near >= 1 && Number.isInteger(near) ? near : undefined
}
