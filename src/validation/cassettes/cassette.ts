import type { RecordedCall, RecordedTurn, RunRecording } from '../../chat/run-record.ts'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { AuditRow } from '../../core/storage/ledger.ts'
import type { GateDecision, StoredRun } from '../../core/storage/run-store.ts'
import { errorTraits } from '../../core/tool-result.ts'
import type { Message } from '../../models/model.ts'
import type { ExpectedCall, FileCase } from '../suites/suite.ts'

/** The only version that is written and read. */
const CASSETTE_VERSION = 1

/** The recording of a run, which can be replayed without its model and its tools. */
export interface Cassette {
  readonly cassette: typeof CASSETTE_VERSION
  readonly run_id: string
  readonly recorded_at: string
  readonly model: string
  readonly service: string
  readonly duration_ms: number
  /** Whether it can be replayed strictly. */
  readonly complete: boolean
  /** What the recording lacks, in sentences. */
  readonly incomplete: readonly string[]
  readonly gate?: readonly GateDecision[]
  readonly request: RunRecording['request']
  readonly turns: readonly RecordedTurn[]
  readonly calls: readonly RecordedCall[]
  readonly answer: RunRecording['answer']
}

/** A cassette can't be created or read, or its replay differs from the run. */
export class CassetteError extends Error {
  override readonly name = 'CassetteError'
}

/** Makes a cassette of a stored run. Throws a `CassetteError` if its contents weren't recorded. */
export function runCassette(run: StoredRun): Cassette {
  if (run.recording === undefined) {
    throw new CassetteError(
      `Run '${run.id}' can't be replayed: the parameters and results of its calls were not recorded. Set "storage.payloads" to "all", and "storage.runs" must not be false; then run it again`,
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

const CASSETTE_SCHEMA = compileSchema({
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

/** Validates a cassette; throws a `CassetteError` that says what is wrong. */
export function readCassette(value: unknown): Cassette {
  const { cassette } = Object(value) as { cassette?: unknown }
  if (cassette === undefined) throw new CassetteError('This isn\'t a cassette: it has no version under "cassette"')
  if (cassette !== CASSETTE_VERSION) {
    throw new CassetteError(
      `The cassette has version ${JSON.stringify(cassette)}, but this Toolyard reads version ${CASSETTE_VERSION}: save the run again`,
    )
  }
  if (!CASSETTE_SCHEMA.check?.(value)) {
    const [problem] = CASSETTE_SCHEMA.explain(value)
    throw new CassetteError(`The cassette is invalid: ${problem?.message.replace(/^parameters /, 'it ')}`)
  }
  return value as Cassette
}

/**
 * Converts a run to a case: the same request and tools, recorded results as mocks, and the calls of the run as the
 * expectation. Calls that were refused as wrong aren't expected.
 */
export function cassetteCase({ run_id, request, calls }: Cassette): FileCase {
  const asked = request.messages.findLastIndex(({ role }) => role === 'user')
  const query = request.messages[asked]?.content ?? ''
  if (query === '') throw new CassetteError(`Run '${run_id}' can't become a case: it has no user message`)
  const messages: readonly Message[] = request.messages.toSpliced(asked, 1)
  const right = calls.filter(
    ({ iteration, result, not_run }) =>
      iteration > 0 && !not_run && (result.success || errorTraits(result.error_code).refused !== 'mistake'),
  )
  const mocks = new Map<string, unknown>()
  for (const { tool, result } of right) if (result.success && !mocks.has(tool)) mocks.set(tool, result.result)
  const shown = new Map(request.tools.map((tool) => [tool.name, tool]))
  return {
    id: `run-${run_id}`,
    query,
    ...(messages.length > 0 && { messages }),
    tools: request.offered.map((name) => shown.get(name) ?? name),
    ...(mocks.size > 0 && { mocks: Object.fromEntries(mocks) }),
    expect: right.length === 0 ? { no_call: true } : { calls: right.map(expected) },
  }
}

/** Makes a case of one call. The query names the parameters: edit it to what a user would ask. */
export function callCase({ id, tool, outcome }: AuditRow, payload: string | null): FileCase {
  const stored = payload === null ? undefined : JSON.parse(payload)
  if (stored?.params === undefined || stored.shortened === true) {
    const reason =
      stored === undefined ? 'Its parameters are not stored: see "storage.payloads"' : 'They are not complete'
    throw new CassetteError(`Call '${id}' can't become a case. ${reason}`)
  }
  return {
    id: `call-${tool}`,
    query: `Call the tool ${tool} with ${JSON.stringify(stored.params)}`,
    tools: [tool],
    ...(outcome === 'success' && { mocks: { [tool]: stored.result } }),
    expect: { calls: [expected({ tool, params: stored.params })] },
  }
}

const expected = ({ tool, params }: Pick<Cassette['calls'][number], 'tool' | 'params'>): ExpectedCall => {
  const values = Object.entries(Object(params)).map(([name, value]) => [name, literal(value)])
  return { tool, params: Object.fromEntries(values) }
}

/** Escapes a value that looks like a matcher; a redacted secret matches anything. */
function literal(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('[redacted]') ? { $any: true } : value
  if (Array.isArray(value)) return value.map(literal)
  if (!isObject(value)) return value
  if (Object.keys(value).some((key) => key.startsWith('$'))) return { $equals: value }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, literal(one)]))
}
