import { valueInWords, valuesInWords } from '../../core/schema/problem-words.ts'
import type { ObservedCall, Verdict } from '../suites/suite.ts'
import { type AcceptedCall, mayBeLeftOut } from './bfcl-answer.ts'
import type { BfclLanguage } from './bfcl-category.ts'
import { type BfclFunction, plainName } from './bfcl-function.ts'
import { checkValue } from './check-value.ts'

type Failure = Extract<Verdict, { passed: false }>

/** What calls are held against. */
export interface BfclQuestion {
  readonly functions: readonly BfclFunction[]
  readonly language: BfclLanguage
}

/**
 * Judges calls by the published rules. Where several are expected, each answer in turn takes the first call left that
 * fits it. Where one call fits two answers that can fail a set which would fit in another way; the published checker
 * does it so, and figures are comparable only if this one does, too.
 */
export function checkCalls(
  calls: readonly ObservedCall[],
  answers: readonly AcceptedCall[],
  question: BfclQuestion,
): Verdict {
  const malformed = calls.find(({ params }) => params === undefined)
  if (malformed !== undefined) return malformedCall(malformed)
  if (calls.length !== answers.length)
    return wrongCount(
      calls,
      answers.map(({ name }) => plainName(name)),
    )
  const left = [...calls]
  for (const [at, answer] of answers.entries()) {
    const fitting = left.findIndex((call) => checkCall(call, answer, question) === undefined)
    if (fitting < 0) return nearest(left, answer, answers.slice(at + 1), question)
    left.splice(fitting, 1)
  }
  return { passed: true }
}

/** Judges calls that must come in the order of the answers. */
export function checkCallsInOrder(
  calls: readonly ObservedCall[],
  answers: readonly AcceptedCall[],
  question: BfclQuestion,
): Verdict {
  const anyhow = checkCalls(calls, answers, question)
  if (!anyhow.passed) return anyhow
  const at = answers.findIndex((answer, index) => checkCall(calls[index] as ObservedCall, answer, question))
  if (at < 0) return anyhow
  const expected = answers.map(({ name }) => plainName(name))
  const actual = calls.map(({ tool }) => tool)
  const message = `The calls are right, but call ${at + 1} comes out of order: expected ${expected.join(', ')}.`
  return { passed: false, kind: 'wrong_order', message, expected, actual }
}

/** One call against one answer; undefined where it fits. */
function checkCall(
  { tool, params = {} }: ObservedCall,
  { name, params: accepted }: AcceptedCall,
  { functions, language }: BfclQuestion,
): Failure | undefined {
  const wanted = plainName(name)
  if (plainName(tool) !== wanted) {
    const message = `Called ${quoted(tool)}, expected ${wanted}.`
    return { passed: false, kind: 'wrong_tool', message, tool: wanted, expected: wanted, actual: tool }
  }
  const fail = (kind: Failure['kind'], message: string, expected?: unknown, actual?: unknown): Failure => ({
    passed: false,
    kind,
    message: `${wanted}: ${message}`,
    tool: wanted,
    expected,
    actual,
  })
  const { properties, required } = (functions.find((one) => one.name === name) as BfclFunction).parameters
  const missing = required.find((parameter) => !Object.hasOwn(params, parameter))
  if (missing !== undefined) {
    return fail('missing_parameter', `${missing} is missing, which is required.`, accepted[missing])
  }
  for (const [parameter, value] of Object.entries(params)) {
    const declared = Object.hasOwn(properties, parameter) ? properties[parameter] : undefined
    const values = Object.hasOwn(accepted, parameter) ? accepted[parameter] : undefined
    if (declared === undefined || values === undefined) {
      return fail('unexpected_parameter', `${parameter} is not expected here.`, undefined, value)
    }
    const fault = checkValue(value, values, declared, language)
    if (fault === 'wrong_type') {
      const kind = declared.type || 'any'
      return fail(fault, `${parameter} is ${quoted(value)}, expected a value of type ${kind}.`, values, value)
    }
    if (fault === 'wrong_value') {
      return fail(fault, `${parameter} is ${quoted(value)}, expected one of: ${valuesInWords(values)}.`, values, value)
    }
  }
  const left = Object.keys(accepted).find((parameter) => {
    return !Object.hasOwn(params, parameter) && !mayBeLeftOut(accepted[parameter] as readonly unknown[])
  })
  return left === undefined
    ? undefined
    : fail('missing_parameter', `${left} is missing, expected one of: ${valuesInWords(accepted[left] ?? [])}.`)
}

/** What is wrong with the call that was meant: one that is right for no other answer, and has the right name if any has. */
function nearest(
  calls: readonly ObservedCall[],
  answer: AcceptedCall,
  others: readonly AcceptedCall[],
  question: BfclQuestion,
): Failure {
  const spare = calls.filter((call) => others.every((other) => checkCall(call, other, question) !== undefined))
  const failures = (spare.length > 0 ? spare : calls).map((call) => checkCall(call, answer, question) as Failure)
  return failures.find(({ kind }) => kind !== 'wrong_tool') ?? (failures[0] as Failure)
}

const quoted = (value: unknown): string =>
  typeof value === 'string' ? `"${valueInWords(value)}"` : valueInWords(value)

function malformedCall({ tool }: ObservedCall): Failure {
  return { passed: false, kind: 'malformed_call', message: `The parameters of ${tool} are no JSON object.`, tool }
}

function wrongCount(calls: readonly ObservedCall[], expected: readonly string[]): Failure {
  const actual = calls.map(({ tool }) => tool)
  const made = actual.length === 0 ? 'no call' : `${actual.length} calls (${actual.join(', ')})`
  const message = `Made ${made}, expected ${expected.length} (${expected.join(', ')}).`
  const [tool] = expected
  return { passed: false, kind: 'wrong_count', message, ...(tool !== undefined && { tool }), expected, actual }
}
