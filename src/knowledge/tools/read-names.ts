import type { Params } from '../../core/tool.ts'
import { badParameter } from '../../kinds/builtin/read-parameter.ts'

const MOST_NAMES = 50
export const LONGEST_NAME = 100

/** Names that no object may have from outside. */
const FORBIDDEN = new Set(['__proto__', 'prototype', 'constructor'])

/** The schema of a list of names. */
export const namesSchema = {
  type: 'array',
  items: { type: 'string', minLength: 1, maxLength: LONGEST_NAME },
  minItems: 1,
  maxItems: MOST_NAMES,
} as const

/** Reads a list of names that a caller gives, each once and without space around it. */
export function readNames(params: Params, name: string): readonly string[] | undefined {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  if (value === undefined) return undefined
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_NAMES) {
    throw badParameter(`${name} must be a list of 1 to ${MOST_NAMES} names`)
  }
  return [...new Set(value.map((one) => checked(one, name)))]
}

function checked(given: unknown, name: string): string {
  const text = typeof given === 'string' ? given.trim() : ''
  if (text === '' || text.length > LONGEST_NAME) {
    throw badParameter(`each of ${name} must be a text of 1 to ${LONGEST_NAME} characters`)
  }
  if (FORBIDDEN.has(text)) throw badParameter(`${name} must not hold '${text}'`)
  return text
}
