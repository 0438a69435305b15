import type { SpanContext } from '@opentelemetry/api'

/** Version 00 ends after the flags; later versions may go on after another hyphen. */
const FORM = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const LONGEST = 256

/** The span that a W3C `traceparent` names; undefined where it is none. */
export function readTraceparent(text: string | undefined): SpanContext | undefined {
  if (text === undefined || text.length > LONGEST) return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = FORM.exec(text) ?? []
  if (version === undefined || (version === '00' && more !== undefined)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}

/** A span as others hear of it. */
export const writeTraceparent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`
