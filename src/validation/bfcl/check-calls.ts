import { sameJson } from '../../core/json/canonical-text.ts'
import { quoted, valuesInWords } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { malformedCall } from '../suites/judge-case.ts'
import type { ObservedCall, Verdict } from '../suites/suite.ts'
import type { BfclLanguage } from './bfcl-category.ts'
import {
  type AcceptedCall,
  acceptedValues,
  type BfclFunction,
  type BfclParameter,
  declaredType,
  fits,
  mayBeOmitted,
  plainName,
  typeOf,
  type ValueType,
} from './bfcl-function.ts'

type Failure = Extract<Verdict, { passed: false }>

interface BfclQuestion {
  readonly functions: readonly BfclFunction[]
  readonly language: BfclLanguage
}

/** Judges calls by the published rules. Assigns calls greedily, like the published checker, for comparable results. */
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

function checkValue(
  given: unknown,
  accepted: readonly unknown[],
  parameter: BfclParameter,
  language: BfclLanguage,
): ValueFault {
  const declared = declaredType(parameter.type) ?? 'any'
  if (language !== 'python' && declared === 'any') return checkAnything(given, accepted)
  const wanted: ValueType = declared === 'any' ? 'string' : declared
  const value = readLiteral(given, parameter, language)
  const shown = accepted.find((one) => one !== '')
  const acceptedType = shown === undefined ? undefined : typeOf(shown)
  const declaredFits = fits(typeOf(value), wanted)
  if (!declaredFits && (acceptedType === undefined || !fits(typeOf(value), acceptedType))) return 'wrong_type'
  if (declaredFits && wanted === 'array' && !hasItemsOf(value as unknown[], accepted, parameter)) return 'wrong_type'
  // An answer of another type than declared names a variable, which is compared literally.
  const variable = acceptedType !== undefined && !fits(acceptedType, wanted)
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
  const declared = declaredType(items?.type)
  if (declared === undefined || declared === 'any') return true
  return accepted.some((one) => {
    if (!Array.isArray(one)) return true
    const shown = one.find((item) => item !== '')
    return value.every((item) => {
      const type = typeOf(item)
      return fits(type, declared) || (shown !== undefined && fits(type, typeOf(shown)))
    })
  })
}

function isAccepted(
  value: unknown,
  accepted: readonly unknown[],
  type: ValueType | undefined,
  { items }: BfclParameter,
): boolean {
  if (type === 'object') return accepted.some((one) => isObject(one) && hasEntries(value, one))
  if (type === 'array' && declaredType(items?.type) === 'object') {
    return accepted.some((one) => hasObjects(value as unknown[], one === '' ? [] : one))
  }
  if (type === 'array') return accepted.some((one) => hasItems(value as unknown[], one === '' ? [] : one))
  return accepted.some((one) => (type === 'string' ? sameText(value, one) : sameJson(value, one)))
}

const sameText = (value: unknown, one: unknown): boolean =>
  typeof value === 'string' && typeof one === 'string'
    ? standardText(value) === standardText(one)
    : sameJson(value, one)

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

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/** Reads a literal; undefined if the text isn't one. */
type Reader = (text: string, items?: string) => unknown

/** Reads a number, without the last `suffix` characters. */
const numbers =
  (pattern: RegExp, suffix = 0): Reader =>
  (text) =>
    pattern.test(text) ? Number(text.slice(0, text.length - suffix)) : undefined

const readBoolean: Reader = (text) => (text === 'true' ? true : text === 'false' ? false : undefined)
const readInteger = numbers(/^-?\d+$/)
const readLong = numbers(/^-?\d+[lL]$/, 1)
const readFloat = numbers(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[fF]$/, 1)
const readDouble = numbers(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/)
const readJsNumber = numbers(/^-?\d+(?:\.\d+)?$/)

const JAVA_ARRAY = /^new\s+\w+\s*\[\]\s*\{(?<items>.*)\}$/s
const JAVA_LIST_OF = /^new\s+ArrayList<\w*>\s*\(\s*Arrays\.asList\((?<items>.*)\)\s*\)$/s
const JAVA_EMPTY_LIST = /^new\s+ArrayList<\w*>\s*\(\s*\)$/
const JAVA_LIST_WITH = /^new\s+ArrayList<\w*>\s*\(\s*\)\s*\{\s*\{(?<body>.*)\}\s*\}$/s
const JAVA_EMPTY_MAP = /^new\s+HashMap<[^>]*>\s*\(\s*\)(?:\s*\{\s*\})?$/
const JAVA_MAP_WITH = /^new\s+HashMap<[^>]*>\s*\(\s*\)\s*\{\s*\{(?<body>.*)\}\s*\}$/s
const JAVA_STATEMENT = /^(?<method>add|put)\s*\((?<inside>.*)\)$/s

const JAVA: Readonly<Record<string, Reader>> = {
  byte: readInteger,
  short: readInteger,
  integer: readInteger,
  long: readLong,
  float: readFloat,
  double: readDouble,
  boolean: readBoolean,
  Array: readJavaList,
  ArrayList: readJavaList,
  HashMap: readJavaMap,
}

const JAVASCRIPT: Readonly<Record<string, Reader>> = {
  String: unquoted,
  integer: readInteger,
  float: readJsNumber,
  Bigint: numbers(/^-?\d+n$/, 1),
  Boolean: readBoolean,
  array: readJsList,
  dict: readJsObject,
}

/** Reads a Java literal of a declared type; returns the text unchanged if it isn't one. */
export const javaValue = (source: string, type: string, items?: string): unknown =>
  (Object.hasOwn(JAVA, type) ? JAVA[type]?.(source.trim(), items) : undefined) ?? source

/** Reads a JavaScript literal of a declared type; returns the text unchanged if it isn't one. */
export const javascriptValue = (source: string, type: string, items?: string): unknown =>
  (Object.hasOwn(JAVASCRIPT, type) ? JAVASCRIPT[type]?.(source.trim(), items) : undefined) ?? source

function readJavaList(text: string, items?: string): unknown[] | undefined {
  const read = (one: string): unknown =>
    items === undefined || items === 'any' ? looseJavaValue(one) : (unquoted(one) ?? javaValue(one, items))
  if (JAVA_EMPTY_LIST.test(text)) return []
  const listed = (JAVA_ARRAY.exec(text) ?? JAVA_LIST_OF.exec(text))?.groups?.items
  if (listed !== undefined) return splitLiterals(listed).map(read)
  const body = JAVA_LIST_WITH.exec(text)?.groups?.body
  return body === undefined ? undefined : javaStatements(body, 'add')?.map(([one = '']) => read(one))
}

function readJavaMap(text: string): Record<string, unknown> | undefined {
  if (JAVA_EMPTY_MAP.test(text)) return {}
  const body = JAVA_MAP_WITH.exec(text)?.groups?.body
  const puts = body === undefined ? undefined : javaStatements(body, 'put')
  return puts && Object.fromEntries(puts.map(([key = '', value = '']) => [unquoted(key) ?? key, looseJavaValue(value)]))
}

/** The arguments of statements such as `add(1); add(2);`; undefined if another method is called. */
function javaStatements(body: string, method: string): string[][] | undefined {
  const found = splitLiterals(body, ';').map((one) => JAVA_STATEMENT.exec(one)?.groups)
  if (found.some((groups) => groups?.method !== method)) return undefined
  return found.map((groups) => splitLiterals(groups?.inside ?? ''))
}

const looseJavaValue = (text: string): unknown =>
  readBoolean(text) ?? readLong(text) ?? readFloat(text) ?? readDouble(text) ?? unquoted(text) ?? text

function readJsList(text: string, items?: string): unknown[] | undefined {
  const groups = /^(?:\[(?<items>.*)\]|new\s+Array\((?<given>.*)\))$/s.exec(text)?.groups
  const listed = groups?.items ?? groups?.given
  if (listed === undefined) return undefined
  const read = (one: string) =>
    items === undefined || items === 'any' || /^[[{]/.test(one) ? looseJsValue(one) : javascriptValue(one, items)
  return splitLiterals(listed).map(read)
}

function readJsObject(text: string): Record<string, unknown> | undefined {
  const entries = /^\{(?<entries>.*)\}$/s.exec(text)?.groups?.entries
  if (entries === undefined) return undefined
  const pairs = splitLiterals(entries).map((entry) => {
    const [key = ''] = splitLiterals(entry, ':')
    return [unquoted(key) ?? key, looseJsValue(entry.slice(entry.indexOf(':', key.length) + 1).trim())] as const
  })
  return Object.fromEntries(pairs)
}

const looseJsValue = (text: string): unknown =>
  readBoolean(text) ?? readJsNumber(text) ?? unquoted(text) ?? readJsList(text) ?? readJsObject(text) ?? text

/** Splits a text at separators outside quotes and brackets, and drops an empty last part. */
function splitLiterals(text: string, separator = ','): string[] {
  const parts: string[] = []
  const open: string[] = []
  let quote: string | undefined
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character === '\\') at++
    else if (quote !== undefined) quote = character === quote ? undefined : quote
    else if (character === '"' || character === "'") quote = character
    else if (CLOSING[character] !== undefined) open.push(CLOSING[character])
    else if (character === open.at(-1)) open.pop()
    else if (character === separator && open.length === 0) {
      parts.push(text.slice(start, at).trim())
      start = at + 1
    }
  }
  const last = text.slice(start).trim()
  return last === '' ? parts : [...parts, last]
}

function unquoted(text: string): string | undefined {
  const quote = text[0]
  if ((quote !== '"' && quote !== "'") || text.length < 2 || text.at(-1) !== quote) return undefined
  return text.slice(1, -1).replaceAll(/\\(.)/g, '$1')
}
