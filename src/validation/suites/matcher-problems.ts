import { intentPattern } from '../../chat/rules/intent-pattern.ts'
import { valueInWords } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { suggest } from '../../core/suggest.ts'
import { MATCHERS } from './matcher.ts'

/** Matchers stand in each other no deeper than parameters do. */
const MAX_DEPTH = 64

/** What is wrong with the matchers in a value: each with its path, the value and what to write instead. */
export function matcherProblems(value: unknown, path: string, depth = 0): string[] {
  if (depth > MAX_DEPTH) return [`${path} is nested more than ${MAX_DEPTH} levels deep: write less.`]
  if (Array.isArray(value)) return value.flatMap((item, at) => matcherProblems(item, `${path}[${at}]`, depth + 1))
  if (!isObject(value)) return []
  const word = Object.keys(value).find((key) => key.startsWith('$'))
  if (word === undefined) return entryProblems(value, path, depth)
  if (!Object.hasOwn(MATCHERS, word)) return [`${path} has ${unknownWord(word)}`]
  const fault = faultOf(word, value)
  if (fault !== undefined) return [`${path} ${valueInWords(value)} ${fault}: write it as ${MATCHERS[word]}.`]
  return word === '$one_of' ? matcherProblems(value.$one_of, `${path}.$one_of`, depth + 1) : []
}

/** The same for the entries of an object, or of parameters, which may be optional; their names are only names. */
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
  const meant = near === undefined ? `use one of ${known}` : `did you mean '${near}'?`
  return `the unknown matcher '${word}': ${meant} A value with such a key is written as ${MATCHERS.$equals}.`
}

/** Why a matcher cannot be used; undefined where it can. */
function faultOf(word: string, value: Readonly<Record<string, unknown>>): string | undefined {
  const allowed = word === '$number' ? [word, 'within'] : [word]
  const other = Object.keys(value).find((key) => !allowed.includes(key))
  if (other !== undefined) return `has '${other}' beside ${word}`
  const inner = value[word]
  switch (word) {
    case '$any':
      return inner === true ? undefined : 'is not true'
    case '$number':
      if (!Number.isFinite(inner)) return 'is no number'
      return Number.isFinite(value.within) && Number(value.within) >= 0 ? undefined : 'has no "within" from 0 up'
    case '$one_of':
      return Array.isArray(inner) && inner.length > 0 ? undefined : 'is no list of values'
    case '$matches':
      return typeof inner === 'string' ? patternFault(inner) : 'is no text'
    case '$optional':
      return 'stands where nothing can be left out'
    default:
      return undefined
  }
}

/** Why a text is no regular expression that can be matched in bounded time. */
export function patternFault(literal: string): string | undefined {
  try {
    intentPattern(literal)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.split(': write it as ', 1).join() : String(error)
  }
}
