/** What is traced: a run, a model's turn in it, a tool call. */
export type SpanKind = 'invoke_agent' | 'chat' | 'execute_tool'

/** Facts about a span; the tracer knows what the conventions call them. */
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
  /** Only where the span wants contents. */
  readonly params?: unknown
  readonly result?: unknown
}

/** A stretch of work while it goes on. */
export interface Span {
  /** In the form of the W3C header, for whoever works on our behalf. */
  readonly traceparent: string
  /** True where parameters and results are wanted too: somebody has asked for them, and the span is kept. */
  readonly contents?: boolean
  end(facts: SpanFacts): void
}

/** Tells others what happens. Where nobody listens there is none, and nothing is paid. */
export interface Tracer {
  start(kind: SpanKind, name: string, parent: string | undefined): Span
}
