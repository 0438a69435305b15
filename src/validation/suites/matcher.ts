import { intentPattern } from '../../chat/intent-pattern.ts'
import { canonicalText, sameJson } from '../../core/json/canonical-text.ts'
import { foreignText } from '../../core/json/json-depth.ts'
import { shortened, valueInWords } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { suggest } from '../../core/suggest.ts'

/** The keys that make an object a matcher, with an example of each. */
const MATCHERS: Readonly<Record<string, string>> = {
  $any: '{"$any": true}',
  $equals: '{"$equals": <any JSON>}',
  $matches: '{"$matches": "/^paris/i"}',
  $number: '{"$number": 3.14, "within": 0.01}',
  $one_of: '{"$one_of": ["Paris", "Paris, France"]}',
  $optional: '{"$optional": "celsius"}',
}

interface Mismatch {
  readonly kind: 'missing_parameter' | 'unexpected_parameter' | 'wrong_type' | 'wrong_value'
  readonly path: string
  readonly expected: unknown
  readonly actual?: unknown
}

/** The `$` key of a matcher; undefined if the value is plain JSON. */
function matcherWord(value: unknown): string | undefined {
  return isObject(value) ? Object.keys(value).find((key) => key.startsWith('$')) : undefined
}

const isOptional = (expected: unknown): boolean => matcherWord(expected) === '$optional'

/** Compares a value with an expectation, which may contain matchers; undefined if it is right. */
export function mismatch(expected: unknown, actual: unknown, path: string): Mismatch | undefined {
  const word = matcherWord(expected)
  if (word !== undefined) return byMatcher(word, expected as Readonly<Record<string, unknown>>, actual, path)
  const wrong = typeOf(expected) === typeOf(actual) ? 'wrong_value' : 'wrong_type'
  if (Array.isArray(expected) && Array.isArray(actual)) {
    if (expected.length !== actual.length) return { kind: 'wrong_value', path, expected, actual }
    return first(expected, (item, at) => mismatch(item, actual[at], `${path}[${at}]`))
  }
  if (isObject(expected) && isObject(actual)) return entryMismatch(expected, actual, `${path}.`)
  return expected === actual ? undefined : { kind: wrong, path, expected, actual }
}

export function entryMismatch(
  expected: Readonly<Record<string, unknown>>,
  actual: Readonly<Record<string, unknown>>,
  prefix: string,
): Mismatch | undefined {
  const missing = Object.keys(expected).find((key) => !Object.hasOwn(actual, key) && !isOptional(expected[key]))
  if (missing !== undefined) {
    return { kind: 'missing_parameter', path: `${prefix}${missing}`, expected: expected[missing] }
  }
  return first(Object.keys(actual), (key) => {
    const path = `${prefix}${key}`
    if (Object.hasOwn(expected, key)) return mismatch(expected[key], actual[key], path)
    return { kind: 'unexpected_parameter', path, expected: undefined, actual: actual[key] }
  })
}

function byMatcher(
  word: string,
  expected: Readonly<Record<string, unknown>>,
  actual: unknown,
  path: string,
): Mismatch | undefined {
  const inner = expected[word]
  const differs = (sameType: boolean): Mismatch => {
    return { kind: sameType ? 'wrong_value' : 'wrong_type', path, expected, actual }
  }
  switch (word) {
    case '$any':
      return undefined
    case '$equals':
      return sameJson(inner, actual) ? undefined : differs(typeOf(inner) === typeOf(actual))
    case '$optional':
      return mismatch(inner, actual, path)
    case '$number': {
      const distance = typeof actual === 'number' ? Math.abs(actual - Number(inner)) : Number.NaN
      // Decimals are seldom exact in binary.
      const slack = Number.EPSILON * Math.max(1, Math.abs(Number(inner)), Math.abs(Number(actual)))
      return distance <= Number(expected.within) + slack ? undefined : differs(typeof actual === 'number')
    }
    case '$matches': {
      const isText = typeof actual === 'string'
      return isText && intentPattern(foreignText(inner)).test(actual) ? undefined : differs(isText)
    }
    default: {
      const all = (inner as readonly unknown[]).map((one) => mismatch(one, actual, path))
      if (all.includes(undefined)) return undefined
      return differs(all.some((one) => one?.kind !== 'wrong_type' || one.path !== path))
    }
  }
}

/** Describes an expectation: a matcher in words, a value as JSON. */
export function expectedInWords(expected: unknown): string {
  const word = matcherWord(expected)
  const inner = word === undefined ? undefined : (expected as Record<string, unknown>)[word]
  switch (word) {
    case undefined:
      return shortened(canonicalText(expected))
    case '$any':
      return 'any value'
    case '$number':
      return `${inner} within ${(expected as { within: unknown }).within}`
    case '$matches':
      return `a string that matches ${shortened(foreignText(inner))}`
    case '$one_of':
      return `one of: ${shortened((inner as readonly unknown[]).map(expectedInWords).join(', '))}`
    default:
      return expectedInWords(inner)
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function first<T>(items: readonly T[], look: (item: T, at: number) => Mismatch | undefined): Mismatch | undefined {
  for (const [at, item] of items.entries()) {
    const found = look(item, at)
    if (found !== undefined) return found
  }
  return undefined
}

const MAX_DEPTH = 64

/** Lists invalid matchers in a value, each with its path, the value and a correct example. */
export function matcherProblems(value: unknown, path: string, depth = 0): string[] {
  if (depth > MAX_DEPTH) return [`${path} is nested more than ${MAX_DEPTH} levels deep: simplify it.`]
  if (Array.isArray(value)) return value.flatMap((item, at) => matcherProblems(item, `${path}[${at}]`, depth + 1))
  if (!isObject(value)) return []
  const word = Object.keys(value).find((key) => key.startsWith('$'))
  if (word === undefined) return entryProblems(value, path, depth)
  if (!Object.hasOwn(MATCHERS, word)) return [`${path} has ${unknownWord(word)}`]
  const fault = faultOf(word, value)
  if (fault !== undefined) return [`${path} ${valueInWords(value)} ${fault}: write it as ${MATCHERS[word]}.`]
  return word === '$one_of' ? matcherProblems(value.$one_of, `${path}.$one_of`, depth + 1) : []
}

/** The same for the entries of an object, or parameters, which may be `$optional`. */
export function entryProblems(value: Readonly<Record<string, unknown>>, path: string, depth = 0): string[] {
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = `${path}.${key}`
    const { $optional: optional, ...others } = isObject(inner) ? inner : {}
    if (optional === undefined || Object.keys(others).length > 0) return matcherProblems(inner, at, depth + 1)
    return matcherProblems(optional, `${at}.$optional`, depth + 1)
  })
}

function unknownWord(word: string): string {
  const [near] = suggest(word, Object.keys(MATCHERS))
  const known = Object.keys(MATCHERS).join(', ')
  const meant = near === undefined ? `use one of ${known}.` : `did you mean '${near}'?`
  return `the unknown matcher '${word}': ${meant} Write a value with such a key as ${MATCHERS.$equals}.`
}

function faultOf(word: string, value: Readonly<Record<string, unknown>>): string | undefined {
  const allowed = word === '$number' ? [word, 'within'] : [word]
  const other = Object.keys(value).find((key) => !allowed.includes(key))
  if (other !== undefined) return `has '${other}' beside ${word}`
  const inner = value[word]
  switch (word) {
    case '$any':
      return inner === true ? undefined : "isn't true"
    case '$number':
      if (!Number.isFinite(inner)) return "isn't a number"
      return Number.isFinite(value.within) && Number(value.within) >= 0 ? undefined : 'needs a "within" of 0 or more'
    case '$one_of':
      return Array.isArray(inner) && inner.length > 0 ? undefined : "isn't a list of values"
    case '$matches':
      return typeof inner === 'string' ? patternFault(inner) : "isn't a string"
    case '$optional':
      return 'is only allowed as the value of a key'
    default:
      return undefined
  }
}

/** Why a literal isn't a regular expression that can be matched in linear time; undefined if it is. */
export function patternFault(literal: string): string | undefined {
  try {
    intentPattern(literal)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.split(': write it as ', 1).join() : String(error)
  }
}
