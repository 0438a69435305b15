import type { RecordedCall, RecordedTurn, RunRecording } from '../../chat/run-recording.ts'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import type { GateDecision, StoredRun } from '../../core/storage/run-store.ts'

/** The version that is written; of another one nothing is read. */
export const CASSETTE_VERSION = 1

/** A run that can be replayed without its model and its tools: what was asked, every answer, every call, the end. */
export interface Cassette {
  /** The version of this form. */
  readonly cassette: typeof CASSETTE_VERSION
  readonly run_id: string
  /** ISO 8601. */
  readonly recorded_at: string
  /** `provider:model`. */
  readonly model: string
  readonly service: string
  readonly duration_ms: number
  /** Whether it can be replayed strictly. */
  readonly complete: boolean
  /** What is not in it, in sentences. */
  readonly incomplete: readonly string[]
  readonly gate?: readonly GateDecision[]
  readonly request: RunRecording['request']
  readonly turns: readonly RecordedTurn[]
  readonly calls: readonly RecordedCall[]
  readonly answer: RunRecording['answer']
}

/** A cassette that cannot be made, read or used; or a replay that does not go as the run went. */
export class CassetteError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CassetteError'
  }
}

/** The cassette of a run that was kept. Throws a `CassetteError` where its contents were not. */
export function runCassette(run: StoredRun): Cassette {
  if (run.recording === undefined) {
    throw new CassetteError(
      `Run '${run.id}' cannot be replayed: its contents were not kept ("storage.runs" is false, or it is of an older version)`,
    )
  }
  const { incomplete, request, turns, calls, answer } = JSON.parse(run.recording) as RunRecording
  return {
    cassette: CASSETTE_VERSION,
    run_id: run.id,
    recorded_at: run.started_at,
    model: run.model,
    service: run.service,
    duration_ms: run.duration_ms,
    complete: incomplete.length === 0,
    incomplete,
    ...(run.gate !== undefined && { gate: run.gate }),
    request,
    turns,
    calls,
    answer,
  }
}

const TEXT = { type: 'string' } as const
const NUMBER = { type: 'number' } as const
const TOOL = {
  type: 'object',
  required: ['name', 'description', 'parameters'],
  properties: { name: TEXT, description: TEXT, parameters: { type: 'object' } },
} as const

const FORM = compileSchema({
  type: 'object',
  required: [
    'cassette',
    'run_id',
    'recorded_at',
    'model',
    'service',
    'incomplete',
    'request',
    'turns',
    'calls',
    'answer',
  ],
  properties: {
    run_id: TEXT,
    recorded_at: TEXT,
    model: TEXT,
    service: TEXT,
    incomplete: { type: 'array', items: TEXT },
    request: {
      type: 'object',
      required: ['messages', 'offered', 'tools', 'max_iterations'],
      properties: {
        messages: {
          type: 'array',
          items: {
            type: 'object',
            required: ['role', 'content'],
            properties: {
              role: { enum: ['system', 'user', 'assistant', 'tool'] },
              content: { type: ['string', 'null'] },
            },
          },
        },
        offered: { type: 'array', items: TEXT },
        tools: { type: 'array', items: TOOL },
        client_tools: { type: 'array', items: TOOL },
        max_iterations: { type: 'integer', minimum: 1 },
        max_tokens: NUMBER,
        temperature: NUMBER,
        budget: { type: 'object' },
        prices: { type: 'object' },
      },
    },
    turns: {
      type: 'array',
      items: {
        type: 'object',
        required: ['text', 'calls', 'finish_reason'],
        properties: {
          text: TEXT,
          calls: {
            type: 'array',
            items: {
              type: 'object',
              required: ['id', 'name', 'arguments'],
              properties: { id: TEXT, name: TEXT, arguments: TEXT, recovered: { const: true } },
            },
          },
          finish_reason: TEXT,
          error: TEXT,
          usage: { type: 'object' },
        },
      },
    },
    calls: {
      type: 'array',
      items: {
        type: 'object',
        required: ['tool', 'params', 'result', 'iteration'],
        properties: {
          tool: TEXT,
          iteration: { type: 'integer', minimum: 0 },
          result: {
            type: 'object',
            required: ['success', 'tool_name', 'execution_time_ms'],
            properties: { success: { type: 'boolean' }, error: TEXT, error_code: TEXT },
          },
        },
      },
    },
    answer: { type: 'object', required: ['content', 'stop_reason'], properties: { content: TEXT, stop_reason: TEXT } },
  },
})

/** Gives a value back as a cassette, or throws a `CassetteError` that says what is wrong with it. */
export function readCassette(value: unknown): Cassette {
  const { cassette } = Object(value) as { cassette?: unknown }
  if (cassette === undefined) throw new CassetteError('This is no cassette: it has no version under "cassette"')
  if (cassette !== CASSETTE_VERSION) {
    throw new CassetteError(
      `The cassette is of version ${JSON.stringify(cassette)}, and this Toolyard reads version ${CASSETTE_VERSION}: save the run again`,
    )
  }
  if (!FORM.check?.(value)) {
    const [problem] = FORM.explain(value)
    throw new CassetteError(`The cassette cannot be read: ${problem?.message.replace(/^parameters /, 'it ')}`)
  }
  return value as Cassette
}
