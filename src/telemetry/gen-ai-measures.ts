import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api'
import { inUnits } from '../core/costs.ts'
import type { CallBatch, RecordSink } from '../core/records/recorder.ts'
import type { SpanFacts } from '../core/records/tracer.ts'
import { ATTRIBUTE, DURATION, modelAttributes, TOKENS, UNKNOWN_MODALITY } from './gen-ai-names.ts'
import { KnownNames } from './known-names.ts'

const MAX_TOOLS = 1_000

/** The metrics of the GenAI conventions for tool calls, turns and runs. */
export class GenAiMeasures implements RecordSink {
  readonly #tools = new KnownNames(MAX_TOOLS, '(other tools)')
  readonly #toolDuration: Histogram
  readonly #turnDuration: Histogram
  readonly #runDuration: Histogram
  readonly #inputTokens: Counter
  readonly #outputTokens: Counter
  readonly #cost: Counter

  constructor(meter: Meter) {
    this.#toolDuration = duration(meter, 'execute_tool')
    this.#turnDuration = duration(meter, 'chat')
    this.#runDuration = duration(meter, 'invoke_agent')
    this.#inputTokens = tokens(meter, 'input')
    this.#outputTokens = tokens(meter, 'output')
    this.#cost = meter.createCounter(ATTRIBUTE.cost, { description: 'The known cost of tool calls and turns.' })
  }

  write({ records }: CallBatch): void {
    for (const record of records) {
      const attributes: Attributes = { [ATTRIBUTE.toolName]: this.#tools.toolOf(record) }
      if (record.code !== undefined) attributes[ATTRIBUTE.errorType] = record.code
      this.#toolDuration.record(record.executionTimeMs / 1_000, attributes)
      const { toolName } = ATTRIBUTE
      if (record.cost) this.#cost.add(inUnits(record.cost), { [toolName]: attributes[toolName] })
    }
  }

  turn(model: string, seconds: number, { errorType, inputTokens = 0, outputTokens = 0, cost }: SpanFacts): void {
    const of = { [ATTRIBUTE.operationName]: 'chat', ...modelAttributes(model) }
    this.#turnDuration.record(seconds, errorType === undefined ? of : { ...of, [ATTRIBUTE.errorType]: errorType })
    const counted = { ...of, [ATTRIBUTE.tokenModality]: UNKNOWN_MODALITY }
    this.#inputTokens.add(inputTokens, counted)
    this.#outputTokens.add(outputTokens, counted)
    if (cost !== undefined) this.#cost.add(cost, of)
  }

  run(agent: string, seconds: number, { errorType }: SpanFacts): void {
    this.#runDuration.record(seconds, {
      ...(agent !== '' && { [ATTRIBUTE.agentName]: agent }),
      ...(errorType !== undefined && { [ATTRIBUTE.errorType]: errorType }),
    })
  }
}

function duration(meter: Meter, of: keyof typeof DURATION): Histogram {
  const { name, description, buckets } = DURATION[of]
  return meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries: [...buckets] } })
}

const tokens = (meter: Meter, of: keyof typeof TOKENS): Counter =>
  meter.createCounter(TOKENS[of].name, { unit: '{token}', description: TOKENS[of].description })
