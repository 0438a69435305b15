/** The span that a W3C `traceparent` header names. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
}

/** Version 00 ends after the flags; later versions may go on after another hyphen. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const MAX_CHARACTERS = 256

/** Reads a `traceparent`; returns undefined if it is malformed. */
export function readTraceparent(text: unknown): TraceParent | undefined {
  if (typeof text !== 'string' || text.length > MAX_CHARACTERS) return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(text) ?? []
  if (version === undefined || (version === '00' && more !== undefined)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
}

/** Whether a value is a `traceparent` that can be passed on. */
export const isTraceparent = (text: unknown): text is string => readTraceparent(text) !== undefined

/** Writes a span as a `traceparent`. */
export const writeTraceparent = ({ traceId, spanId, traceFlags }: TraceParent): string =>
  `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`
