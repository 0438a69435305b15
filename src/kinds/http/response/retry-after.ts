const LONGEST_MS = 3_600_000
const SECONDS = /^\d{1,10}$/
/** `Date.parse` takes nearly anything for a date. */
const DATE = /^[A-Z][a-z]{2,8},? .* GMT$/

/** How long a service asks to be left alone, an hour at most; undefined where it does not say. */
export function retryAfterMs(header: string | undefined, wallMs: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (!SECONDS.test(text) && !DATE.test(text)) return undefined
  const ms = SECONDS.test(text) ? Number(text) * 1_000 : Date.parse(text) - wallMs
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_MS)
}
