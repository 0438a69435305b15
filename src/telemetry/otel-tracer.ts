import type * as Api from '@opentelemetry/api'
import type { Span, SpanFacts, SpanKind, Tracer } from '../core/tracer.ts'
import type { GenAiMeasures } from './gen-ai-measures.ts'
import { ATTRIBUTE, modelAttributes, modelName } from './gen-ai-names.ts'
import { OtelSpan, type SpanParts } from './otel-span.ts'
import { readTraceparent } from './traceparent.ts'

export interface OtelTracerParts extends SpanParts {
  readonly tracer: Api.Tracer
  readonly measures?: GenAiMeasures | undefined
}

const LONGEST_NAME = 200
/** Beyond this many, a child is told from a stranger's only by what its parent's name says. */
const MOST_OPEN = 10_000

/** What happens, as spans of OpenTelemetry by the GenAI conventions. */
export class OtelTracer implements Tracer {
  readonly #parts: OtelTracerParts
  /** Spans of ours that go on: their children have a parent in this process. */
  readonly #open = new Map<string, Api.SpanContext>()

  constructor(parts: OtelTracerParts) {
    this.#parts = parts
  }

  start(kind: SpanKind, name: string, parent: string | undefined): Span {
    const { api, tracer } = this.#parts
    const named = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name
    const above = parent === undefined ? undefined : (this.#open.get(parent) ?? readTraceparent(parent))
    // A host that keeps contexts has the span in which it calls us in its own.
    const active = api.context.active()
    const span = tracer.startSpan(
      `${kind} ${kind === 'chat' ? modelName(named) : named}`.trimEnd(),
      {
        kind: kind === 'chat' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL,
        attributes: { [ATTRIBUTE.operationName]: kind, ...attributesOf(kind, named) },
      },
      above === undefined ? active : api.trace.setSpanContext(active, above),
    )
    return this.#opened(new OtelSpan(span, this.#parts, { kind, name: named }, this.#ended))
  }

  #opened(span: OtelSpan): OtelSpan {
    if (span.isNamed && this.#open.size < MOST_OPEN) this.#open.set(span.traceparent, span.context)
    return span
  }

  readonly #ended = (span: OtelSpan, seconds: number, facts: SpanFacts): void => {
    this.#open.delete(span.traceparent)
    const { kind, name } = span.begun
    if (kind === 'chat') this.#parts.measures?.turn(name, seconds, facts)
    else if (kind === 'invoke_agent') this.#parts.measures?.run(name, seconds, facts)
  }
}

/** What a sampler may want to know. */
function attributesOf(kind: SpanKind, name: string): Api.Attributes {
  if (kind === 'chat') return modelAttributes(name)
  if (kind === 'execute_tool') return { [ATTRIBUTE.toolName]: name }
  return name === '' ? {} : { [ATTRIBUTE.agentName]: name }
}
