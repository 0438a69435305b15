import { valueInWords, valuesInWords } from '../../core/schema/problem-words.ts'
import { sameJson } from '../../core/schema/same-json.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { malformedCall } from '../suites/judge-case.ts'
import type { ObservedCall, Verdict } from '../suites/suite.ts'
import type { BfclLanguage } from './bfcl-category.ts'
import {
  type AcceptedCall,
  acceptedValues,
  type BfclFunction,
  type BfclParameter,
  declaredKind,
  fits,
  kindOf,
  mayBeOmitted,
  plainName,
  type ValueKind,
} from './bfcl-function.ts'
import { javascriptValue, javaValue } from './literals.ts'

type Failure = Extract<Verdict, { passed: false }>

interface BfclQuestion {
  readonly functions: readonly BfclFunction[]
  readonly language: BfclLanguage
}

/**
 * Judges calls by the published rules. Each answer in turn takes the first remaining call that fits. This greedy
 * assignment can fail calls that would fit in another way, but the published checker works like this, and results must
 * be comparable.
 */
export function checkCalls(
  calls: readonly ObservedCall[],
  answers: readonly AcceptedCall[],
  question: BfclQuestion,
): Verdict {
  const malformed = malformedCall(calls)
  if (malformed !== undefined) return malformed
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
  const verdict = checkCalls(calls, answers, question)
  if (!verdict.passed) return verdict
  const at = answers.findIndex((answer, index) => checkCall(calls[index] as ObservedCall, answer, question))
  if (at < 0) return verdict
  const expected = answers.map(({ name }) => plainName(name))
  const actual = calls.map(({ tool }) => tool)
  const message = `The calls are right, but call ${at + 1} comes out of order: expected ${expected.join(', ')}.`
  return { passed: false, kind: 'wrong_order', message, expected, actual }
}

/** Compares a call with an answer; undefined if it fits. */
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
    return fail('missing_parameter', `${missing} is required, but missing.`, accepted[missing])
  }
  for (const [parameter, value] of Object.entries(params)) {
    const declared = Object.hasOwn(properties, parameter) ? properties[parameter] : undefined
    const values = Object.hasOwn(accepted, parameter) ? accepted[parameter] : undefined
    if (declared === undefined || values === undefined) {
      return fail('unexpected_parameter', `${parameter} is unexpected.`, undefined, value)
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
    return !Object.hasOwn(params, parameter) && !mayBeOmitted(accepted[parameter] as readonly unknown[])
  })
  return left === undefined
    ? undefined
    : fail('missing_parameter', `${left} is missing, expected one of: ${valuesInWords(accepted[left] ?? [])}.`)
}

/** The failure of the closest call: one that fits no other answer, preferably with the right name. */
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

function wrongCount(calls: readonly ObservedCall[], expected: readonly string[]): Failure {
  const actual = calls.map(({ tool }) => tool)
  const made = actual.length === 0 ? 'no call' : `${actual.length} calls (${actual.join(', ')})`
  const message = `Made ${made}, expected ${expected.length} (${expected.join(', ')}).`
  const [tool] = expected
  return { passed: false, kind: 'wrong_count', message, ...(tool !== undefined && { tool }), expected, actual }
}

type ValueFault = 'wrong_type' | 'wrong_value' | undefined

/** Strings are equal if they differ only in spaces, `,./-_*^`, case and the kind of quotes. */
const standardText = (text: string): string =>
  text
    .replaceAll(/[ ,./\-_*^]/g, '')
    .toLowerCase()
    .replaceAll("'", '"')

/** Judges the value of one parameter by the published rules. */
function checkValue(
  given: unknown,
  accepted: readonly unknown[],
  parameter: BfclParameter,
  language: BfclLanguage,
): ValueFault {
  const declared = declaredKind(parameter.type) ?? 'any'
  if (language !== 'python' && declared === 'any') return checkAnything(given, accepted)
  const wanted: ValueKind = declared === 'any' ? 'text' : declared
  const value = readLiteral(given, parameter, language)
  const shown = accepted.find((one) => one !== '')
  const acceptedKind = shown === undefined ? undefined : kindOf(shown)
  const declaredFits = fits(kindOf(value), wanted)
  if (!declaredFits && (acceptedKind === undefined || !fits(kindOf(value), acceptedKind))) return 'wrong_type'
  if (declaredFits && wanted === 'list' && !hasItemsOf(value as unknown[], accepted, parameter)) return 'wrong_type'
  // An answer of another type than declared names a variable, which is compared literally.
  const variable = acceptedKind !== undefined && !fits(acceptedKind, wanted)
  return isAccepted(value, accepted, variable ? undefined : wanted, parameter) ? undefined : 'wrong_value'
}

/** For `any` in Java and JavaScript only the text counts. */
function checkAnything(given: unknown, accepted: readonly unknown[]): ValueFault {
  const text = (value: unknown) => standardText(typeof value === 'string' ? value : JSON.stringify(value))
  return accepted.some((one) => text(one) === text(given)) ? undefined : 'wrong_value'
}

function readLiteral(given: unknown, { type = '', items }: BfclParameter, language: BfclLanguage): unknown {
  if (typeof given !== 'string' || language === 'python') return given
  return language === 'java' ? javaValue(given, type, items?.type) : javascriptValue(given, type, items?.type)
}

/** Whether all items have the declared type, or that of an accepted list's items. */
function hasItemsOf(value: readonly unknown[], accepted: readonly unknown[], { items }: BfclParameter): boolean {
  const declared = declaredKind(items?.type)
  if (declared === undefined || declared === 'any') return true
  return accepted.some((one) => {
    if (!Array.isArray(one)) return true
    const shown = one.find((item) => item !== '')
    return value.every((item) => {
      const kind = kindOf(item)
      return fits(kind, declared) || (shown !== undefined && fits(kind, kindOf(shown)))
    })
  })
}

function isAccepted(
  value: unknown,
  accepted: readonly unknown[],
  kind: ValueKind | undefined,
  { items }: BfclParameter,
): boolean {
  if (kind === 'object') return accepted.some((one) => isObject(one) && hasEntries(value, one))
  if (kind === 'list' && declaredKind(items?.type) === 'object') {
    return accepted.some((one) => hasObjects(value as unknown[], one === '' ? [] : one))
  }
  if (kind === 'list') return accepted.some((one) => hasItems(value as unknown[], one === '' ? [] : one))
  return accepted.some((one) => (kind === 'text' ? sameText(value, one) : sameJson(value, one)))
}

/** Compares strings by `standardText`, anything else exactly. */
const sameText = (value: unknown, one: unknown): boolean =>
  typeof value === 'string' && typeof one === 'string'
    ? standardText(value) === standardText(one)
    : sameJson(value, one)

/** Compares lists item by item, in order. */
const hasItems = (value: readonly unknown[], one: unknown): boolean =>
  Array.isArray(one) && one.length === value.length && value.every((item, at) => sameText(item, one[at]))

const hasObjects = (value: readonly unknown[], one: unknown): boolean =>
  Array.isArray(one) &&
  one.length === value.length &&
  value.every((item, at) => isObject(one[at]) && hasEntries(item, one[at]))

/** Compares objects by key; each key has its own list of accepted values. */
function hasEntries(value: unknown, one: Readonly<Record<string, unknown>>): boolean {
  if (!isObject(value)) return false
  const known = Object.keys(value).every((key) => {
    return Object.hasOwn(one, key) && acceptedValues(one[key]).some((inner) => sameText(value[key], inner))
  })
  return known && Object.keys(one).every((key) => Object.hasOwn(value, key) || mayBeOmitted(acceptedValues(one[key])))
}
