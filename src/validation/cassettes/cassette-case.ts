import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Message } from '../../models/model.ts'
import type { ExpectedCall, FileCase } from '../suites/suite.ts'
import { type Cassette, CassetteError } from './cassette.ts'

const REFUSED: ReadonlySet<string> = new Set(['TOOL_NOT_FOUND', 'INVALID_PARAMETERS'])

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
      iteration > 0 && !not_run && (result.success || !REFUSED.has(result.error_code)),
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

const expected = ({ tool, params }: Cassette['calls'][number]): ExpectedCall => {
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
