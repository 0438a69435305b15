import { createRequire } from 'node:module'
import { performance } from 'node:perf_hooks'
import type * as Api from '@opentelemetry/api'
import { redact, withoutCredentials } from '../core/records/redact.ts'
import {
  readTraceparent,
  type Span,
  type SpanFacts,
  type SpanKind,
  type Tracer,
  writeTraceparent,
} from '../core/records/tracer.ts'
import type { GenAiMeasures } from './gen-ai-measures.ts'
import { ATTRIBUTE, modelAttributes, modelName } from './gen-ai-names.ts'

interface OtelTracerParts extends SpanParts {
  readonly tracer: Api.Tracer
  readonly measures?: GenAiMeasures | undefined
}

const MAX_NAME_CHARACTERS = 200
/** Above this limit, parents in this process are treated as remote. */
const MAX_OPEN = 10_000

/** Traces runs, turns and calls as OpenTelemetry spans by the GenAI conventions. */
export class OtelTracer implements Tracer {
  readonly #parts: OtelTracerParts
  /** Open spans of this process, by their traceparent. */
  readonly #open = new Map<string, Api.SpanContext>()

  constructor(parts: OtelTracerParts) {
    this.#parts = parts
  }

  start(kind: SpanKind, name: string, parent: string | undefined): Span {
    const { api, tracer } = this.#parts
    const named = cut(name)
    const above = parent === undefined ? undefined : (this.#open.get(parent) ?? remoteSpan(parent))
    // The active context holds the host application's span.
    const active = api.context.active()
    const span = tracer.startSpan(
      `${kind} ${kind === 'chat' ? modelName(named) : named}`.trimEnd(),
      {
        kind: kind === 'chat' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL,
        attributes: { [ATTRIBUTE.operationName]: kind, ...startAttributes(kind, named) },
      },
      above === undefined ? active : api.trace.setSpanContext(active, above),
    )
    return this.#opened(new OtelSpan(span, this.#parts, { kind, name: named, given: name }, this.#ended))
  }

  #opened(span: OtelSpan): OtelSpan {
    if (span.isNamed && this.#open.size < MAX_OPEN) this.#open.set(span.traceparent, span.context)
    return span
  }

  readonly #ended = (span: OtelSpan, seconds: number, facts: SpanFacts): void => {
    this.#open.delete(span.traceparent)
    const { kind, name } = span.begun
    if (kind === 'chat') this.#parts.measures?.turn(name, seconds, facts)
    else if (kind === 'invoke_agent') this.#parts.measures?.run(name, seconds, facts)
  }
}

const cut = (name: string): string =>
  name.length > MAX_NAME_CHARACTERS ? `${name.slice(0, MAX_NAME_CHARACTERS)}…` : name

/** Attributes that a sampler can use. */
function startAttributes(kind: SpanKind, name: string): Api.Attributes {
  if (kind === 'chat') return modelAttributes(name)
  if (kind === 'execute_tool') return { [ATTRIBUTE.toolName]: name }
  return name === '' ? {} : { [ATTRIBUTE.agentName]: name }
}

interface SpanParts {
  readonly api: typeof Api
  /** Whether parameters and results are recorded. */
  readonly contents: boolean
}

interface Begun {
  readonly kind: SpanKind
  readonly name: string
  /** The name before it was cut. */
  readonly given: string
}

/** An OpenTelemetry span that takes facts instead of attributes. */
class OtelSpan implements Span {
  readonly traceparent: string
  readonly contents: boolean
  readonly begun: Begun
  /** False if the tracer has no provider: the caller's trace is then passed on. */
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
    const { kind, given } = this.begun
    this.#span.setAttributes(attributesOf(kind, facts))
    if (facts.errorType === undefined) return
    this.#span.setStatus({ code: this.#errorStatus })
    if (facts.errorType !== 'TOOL_NOT_FOUND') return
    // Span names must not contain arbitrary text of callers, and attributes no keys.
    this.#span.updateName(kind)
    this.#span.setAttribute(ATTRIBUTE.toolName, cut(withoutCredentials(given)))
  }
}

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

/** A redacted, truncated text, because not every SDK takes objects. */
function contentText(value: unknown): string | undefined {
  if (value === undefined) return undefined
  try {
    return JSON.stringify(redact(value))
  } catch {
    return undefined
  }
}

function remoteSpan(traceparent: string): Api.SpanContext | undefined {
  const span = readTraceparent(traceparent)
  return span && { ...span, isRemote: true }
}

/**
 * Traces runs, turns and calls with a tracer of the host application: `trace.getTracer('toolyard')`. Records parameters
 * and results only if `contents` is true.
 */
export function openTelemetryTracer(tracer: Api.Tracer, { contents = false }: { contents?: boolean } = {}): Tracer {
  // Loaded lazily: the package's main entry imports this module.
  const api = createRequire(import.meta.url)('@opentelemetry/api') as typeof Api
  return new OtelTracer({ tracer, api, contents })
}
