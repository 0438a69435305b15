/** How long a provider asks to be left alone: in milliseconds, in seconds, or until a date. */
export function retryAfterMs(headers: Readonly<Record<string, string>>, wallMs: number): number | undefined {
  const exact = Number.parseFloat(headers['retry-after-ms'] ?? '')
  if (exact >= 0) return Math.ceil(exact)
  const given = headers['retry-after'] ?? ''
  const ms = /^\s*-?[\d.]+\s*$/.test(given) ? Number.parseFloat(given) * 1000 : Date.parse(given) - wallMs
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms))
}

/** The same from the body: Google sends no header, but a detail. */
export function retryInfoMs(body: unknown): number | undefined {
  for (const detail of detailsOf(body)) {
    if (detail?.['@type'] !== 'type.googleapis.com/google.rpc.RetryInfo') continue
    const seconds = /^([\d.]+)s$/.exec(String(detail.retryDelay))?.[1]
    if (seconds !== undefined) return Math.ceil(Number.parseFloat(seconds) * 1000)
  }
  return undefined
}

function detailsOf(body: unknown): (Record<string, unknown> | null | undefined)[] {
  const details = (body as { error?: { details?: unknown } } | null | undefined)?.error?.details
  return Array.isArray(details) ? details : []
}
