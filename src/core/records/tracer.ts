export type SpanKind = 'invoke_agent' | 'chat' | 'execute_tool'

/** Attributes of a span. The tracer maps them to the OpenTelemetry conventions. */
export interface SpanFacts {
  readonly tool?: string
  readonly callId?: string
  readonly model?: string
  readonly tenant?: string
  readonly runId?: string
  readonly errorType?: string
  readonly finishReason?: string
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly cost?: number
  /** Only if `contents` is true. */
  readonly params?: unknown
  readonly result?: unknown
}

export interface Span {
  /** As a W3C `traceparent` header. */
  readonly traceparent: string
  /** Whether to record parameters and results. */
  readonly contents?: boolean
  end(facts: SpanFacts): void
}

/** Creates spans. Without a tracer nothing is traced, at no cost. */
export interface Tracer {
  start(kind: SpanKind, name: string, parent: string | undefined): Span
}

interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
}

/** Version 00 ends after the flags; later versions may continue after a hyphen. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const MAX_CHARACTERS = 256

/** Reads a `traceparent`; returns undefined if it is malformed. */
export function readTraceparent(text: unknown): TraceParent | undefined {
  if (typeof text !== 'string' || text.length > MAX_CHARACTERS) return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(text) ?? []
  if (version === undefined || (version === '00' && more !== undefined)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
}

export const isTraceparent = (text: unknown): text is string => readTraceparent(text) !== undefined

export const writeTraceparent = ({ traceId, spanId, traceFlags }: TraceParent): string =>
  `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`
