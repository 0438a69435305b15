import { performance } from 'node:perf_hooks'
import type * as Api from '@opentelemetry/api'
import { redact } from '../core/redact.ts'
import type { Span, SpanFacts, SpanKind } from '../core/tracer.ts'
import { ATTRIBUTE, modelAttributes } from './gen-ai-names.ts'
import { writeTraceparent } from './traceparent.ts'

/** What is the same for all spans of a tracer. */
export interface SpanParts {
  /** The package itself: whoever made the tracer has it already. */
  readonly api: typeof Api
  /** Whether parameters and results are told. */
  readonly contents: boolean
}

/** What a span was begun with. */
export interface Begun {
  readonly kind: SpanKind
  readonly name: string
}

/** A span of OpenTelemetry that is told facts instead of attributes. */
export class OtelSpan implements Span {
  readonly traceparent: string
  readonly contents: boolean
  readonly begun: Begun
  /** False for the span of a tracer without a provider: the trace then goes past it. */
  readonly isNamed: boolean
  readonly #span: Api.Span
  readonly #errorStatus: Api.SpanStatusCode
  readonly #onEnd: (span: OtelSpan, seconds: number, facts: SpanFacts) => void
  readonly #startedMs = performance.now()
  #ended = false

  constructor(
    span: Api.Span,
    { api, contents }: SpanParts,
    begun: Begun,
    onEnd: (span: OtelSpan, seconds: number, facts: SpanFacts) => void,
  ) {
    this.#span = span
    this.#errorStatus = api.SpanStatusCode.ERROR
    this.begun = begun
    this.#onEnd = onEnd
    this.contents = contents && span.isRecording()
    this.isNamed = api.isSpanContextValid(span.spanContext())
    this.traceparent = this.isNamed ? writeTraceparent(span.spanContext()) : ''
  }

  get context(): Api.SpanContext {
    return this.#span.spanContext()
  }

  end(facts: SpanFacts): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#span.isRecording()) this.#tell(facts)
    this.#span.end()
    this.#onEnd(this, (performance.now() - this.#startedMs) / 1_000, facts)
  }

  #tell(facts: SpanFacts): void {
    const { kind } = this.begun
    this.#span.setAttributes(attributesOf(kind, facts))
    if (facts.errorType === undefined) return
    this.#span.setStatus({ code: this.#errorStatus })
    // A name that a caller made up is no name for a group of spans.
    if (facts.errorType === 'TOOL_NOT_FOUND') this.#span.updateName(kind)
  }
}

/** Those that are undefined are none. */
function attributesOf(kind: SpanKind, facts: SpanFacts): Api.Attributes {
  const { finishReason, model } = facts
  return {
    ...(kind !== 'execute_tool' && model !== undefined && modelAttributes(model)),
    [ATTRIBUTE.toolCallId]: facts.callId,
    [ATTRIBUTE.conversationId]: facts.runId,
    [ATTRIBUTE.tenant]: facts.tenant,
    [ATTRIBUTE.errorType]: facts.errorType,
    [ATTRIBUTE.finishReasons]: finishReason === undefined ? undefined : [finishReason],
    [ATTRIBUTE.inputTokens]: facts.inputTokens,
    [ATTRIBUTE.outputTokens]: facts.outputTokens,
    [ATTRIBUTE.cost]: facts.cost,
    [ATTRIBUTE.toolCallArguments]: contentText(facts.params),
    [ATTRIBUTE.toolCallResult]: contentText(facts.result),
  }
}

/** As a log would show it: bounded, and without secrets. A text, because not every SDK takes objects. */
function contentText(value: unknown): string | undefined {
  if (value === undefined) return undefined
  try {
    return JSON.stringify(redact(value))
  } catch {
    return undefined
  }
}
