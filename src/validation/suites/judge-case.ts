import { intentPattern } from '../../chat/intent-pattern.ts'
import { canonicalText, sameJson } from '../../core/json/canonical-text.ts'
import { ownValue, setOwn } from '../../core/json/json-type.ts'
import { shortened } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { entryMismatch, expectedInWords, mismatch } from './matcher.ts'
import type { Expectation, ExpectedCall, ObservedCall, ObservedTurn, Verdict } from './suite.ts'

type Failure = Extract<Verdict, { passed: false }>

/** Judges a model's turn against the expectation; the first failure decides. */
export function judgeCase(
  { calls: expected, order = 'any', no_call, forbidden = [], answer_matches }: Expectation,
  { calls, answer }: ObservedTurn,
  tools: readonly ToolDefinition[],
): Verdict {
  const [unwanted] = calls
  if (no_call && unwanted !== undefined) {
    const message = `Called ${unwanted.tool}, expected no call.`
    return { passed: false, kind: 'unwanted_call', message, tool: unwanted.tool, expected: [], actual: named(calls) }
  }
  const banned = calls.find(({ tool }) => forbidden.includes(tool))
  if (banned !== undefined) {
    const message = `Called ${banned.tool}, which is forbidden here.`
    return { passed: false, kind: 'forbidden_call', message, tool: banned.tool, actual: named(calls) }
  }
  const failure = malformedCall(calls) ?? (expected && callsFailure(expected, calls, order, tools))
  if (failure !== undefined) return failure
  if (answer_matches !== undefined && !intentPattern(answer_matches).test(answer)) {
    const message = `The answer "${shortened(answer)}" does not match ${answer_matches}.`
    return { passed: false, kind: 'wrong_answer', message, expected: answer_matches, actual: answer }
  }
  return { passed: true }
}

function callsFailure(
  expected: readonly ExpectedCall[],
  calls: readonly ObservedCall[],
  order: 'any' | 'given',
  tools: readonly ToolDefinition[],
): Failure | undefined {
  const strange = calls.find(({ tool }) => !tools.some(({ name }) => name === tool))
  if (strange !== undefined) {
    const wanted = expected.map(({ tool }) => tool)
    const message = `Called "${shortened(strange.tool)}", which wasn't offered; expected ${wanted.join(', ')}.`
    return { passed: false, kind: 'wrong_tool', message, ...toolOf(expected), expected: wanted, actual: strange.tool }
  }
  if (calls.length !== expected.length) return wrongCount(expected, calls)
  const failures = expected.map((one) => calls.map((call) => callFailure(one, call, tools)))
  const pairs = assign(failures.map((row) => row.map((failure) => failure === undefined)))
  const unmatched = pairs.indexOf(undefined)
  if (unmatched >= 0) return nearest(failures[unmatched] as (Failure | undefined)[], pairs)
  if (order === 'any' || failures.every((row, at) => row[at] === undefined)) return undefined
  const message = `The calls are right, but in the wrong order: expected ${expected.map(({ tool }) => tool).join(', ')}.`
  return { passed: false, kind: 'wrong_order', message, ...toolOf(expected), expected, actual: named(calls) }
}

function callFailure(
  { tool, params: expected }: ExpectedCall,
  call: ObservedCall,
  tools: readonly ToolDefinition[],
): Failure | undefined {
  if (call.tool !== tool) {
    const message = `Called ${call.tool}, expected ${tool}.`
    return { passed: false, kind: 'wrong_tool', message, tool, expected: tool, actual: call.tool }
  }
  if (expected === undefined) return undefined
  const definition = tools.find(({ name }) => name === tool) as ToolDefinition
  const wrong = entryMismatch(expected, withDefaults(call.params ?? {}, expected, definition), '')
  if (wrong === undefined) return undefined
  const { kind, path, actual } = wrong
  const found = kind === 'missing_parameter' ? 'is missing' : `is ${shortened(canonicalText(actual))}`
  const instead = kind === 'unexpected_parameter' ? 'expected nothing' : `expected ${expectedInWords(wrong.expected)}`
  const message = `${tool}: ${path} ${found}, ${instead}.`
  return { passed: false, kind, message, tool, expected: wrong.expected, actual }
}

/** Treats an omitted parameter like its default, and ignores defaults that aren't expected. */
function withDefaults(params: Params, expected: Params, { parameters }: ToolDefinition): Params {
  const properties = isObject(parameters.properties) ? parameters.properties : {}
  const whole: Params = { ...params }
  for (const [name, property] of Object.entries(properties)) {
    const preset = isObject(property) ? property.default : undefined
    if (preset === undefined) continue
    if (!Object.hasOwn(expected, name)) {
      if (sameJson(ownValue(whole, name), preset)) delete whole[name]
    } else if (!Object.hasOwn(whole, name) && mismatch(expected[name], preset, name) === undefined) {
      setOwn(whole, name, preset)
    }
  }
  return whole
}

/** The failure of the closest unassigned call, preferring calls of the right tool. */
function nearest(failures: readonly (Failure | undefined)[], taken: readonly (number | undefined)[]): Failure {
  const left = failures.filter((_failure, at) => !taken.includes(at)) as Failure[]
  return left.find(({ kind }) => kind !== 'wrong_tool') ?? (left[0] as Failure)
}

/** The failure of the first call whose arguments aren't a JSON object. */
export function malformedCall(calls: readonly ObservedCall[]): Failure | undefined {
  const call = calls.find(({ params }) => params === undefined)
  if (call === undefined) return undefined
  const message = `The parameters of ${call.tool} aren't a JSON object.`
  return { passed: false, kind: 'malformed_call', message, tool: call.tool }
}

function wrongCount(expected: readonly ExpectedCall[], calls: readonly ObservedCall[]): Failure {
  const made = calls.length === 0 ? 'no call' : `${calls.length} (${calls.map(({ tool }) => tool).join(', ')})`
  const message = `Made ${made}, expected ${expected.length} (${expected.map(({ tool }) => tool).join(', ')}).`
  return { passed: false, kind: 'wrong_count', message, ...toolOf(expected), expected, actual: named(calls) }
}

const named = (calls: readonly ObservedCall[]): unknown => calls.map(({ tool, params }) => ({ tool, params }))

const toolOf = ([first]: readonly ExpectedCall[]) => (first === undefined ? {} : { tool: first.tool })

/**
 * Assigns a column to as many rows as possible, each column once and only where the row is true (Kuhn's algorithm for
 * bipartite matching). Undefined for rows that stay unassigned.
 */
export function assign(rows: readonly (readonly boolean[])[]): (number | undefined)[] {
  const holders = new Map<number, number>()
  const place = (row: number, asked: Set<number>): boolean => {
    for (const [column, fits] of (rows[row] as readonly boolean[]).entries()) {
      if (!fits || asked.has(column)) continue
      asked.add(column)
      const holder = holders.get(column)
      if (holder !== undefined && !place(holder, asked)) continue
      holders.set(column, row)
      return true
    }
    return false
  }
  for (const row of rows.keys()) place(row, new Set())
  const columns = new Map([...holders].map(([column, row]) => [row, column]))
  return rows.map((_row, at) => columns.get(at))
}
