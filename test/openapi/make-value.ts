import { makeText } from './make-text.ts'

type Schema = Readonly<Record<string, unknown>>

/** How values are made, so that the same schema always gives the same ones, and another attempt others. */
export interface Making {
  /** The schema that references start from. */
  readonly root: Schema
  /** Which of several choices is taken. */
  readonly attempt: number
  /** What texts hold that may hold anything. */
  readonly text: string
}

const DEEPEST = 6
const MOST_HOPS = 20

/** A value that a schema of a tool allows, most likely: whoever uses it asks the executor. */
export function makeValue(schema: unknown, making: Making, depth = 0): unknown {
  const { attempt } = making
  const rules = merged(schema, making, 0)
  if (Object.hasOwn(rules, 'const')) return rules.const
  if (Array.isArray(rules.enum)) {
    const choices = rules.enum.filter((one) => one !== null && one !== '')
    return choices.length > 0 ? choices[attempt % choices.length] : rules.enum[0]
  }
  switch (typeOf(rules)) {
    case 'array':
      return makeList(rules, making, depth)
    case 'object':
      return makeObject(rules, making, depth)
    case 'integer':
    case 'number':
      return makeNumber(rules)
    case 'boolean':
      return attempt % 2 === 0
    case 'null':
      return null
    default:
      return makeText(rules, depth === 0 ? making.text : `inner-${attempt}`)
  }
}

/** All that judges one value, as one schema: references followed, one of several choices taken. */
export function merged(schema: unknown, making: Making, hops: number): Schema {
  if (typeof schema !== 'object' || schema === null || hops > MOST_HOPS) return {}
  const { $ref, allOf = [], anyOf = [], oneOf = [], ...own } = schema as Record<string, unknown>
  const target = typeof $ref === 'string' ? pointed(making.root, $ref) : undefined
  const choice = [anyOf, oneOf].flatMap((list) => {
    const real = (list as Schema[]).filter((one) => one.type !== 'null')
    return real.length > 0 ? [real[making.attempt % real.length]] : []
  })
  return [target, ...(allOf as unknown[]), ...choice]
    .filter((one) => one !== undefined)
    .map((one) => merged(one, making, hops + 1))
    .reduce(both, own)
}

function both(one: Schema, other: Schema): Schema {
  const objects = (key: string) => ({ ...(other[key] as object | undefined), ...(one[key] as object | undefined) })
  const lists = [...((one.required as string[]) ?? []), ...((other.required as string[]) ?? [])]
  const enums = [one.enum, other.enum].filter((list) => Array.isArray(list))
  const [first = [], second = first] = enums as unknown[][]
  return {
    ...other,
    ...one,
    ...((one.properties ?? other.properties) !== undefined && { properties: objects('properties') }),
    ...(lists.length > 0 && { required: [...new Set(lists)] }),
    ...(enums.length > 0 && { enum: first.filter((value) => second.includes(value)) }),
  }
}

function pointed(root: Schema, reference: string): unknown {
  return reference
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (value, token) => (value as Schema | undefined)?.[token.replaceAll('~1', '/').replaceAll('~0', '~')],
      root,
    )
}

function typeOf(rules: Schema): unknown {
  const [type] = [rules.type].flat().filter((one) => one !== 'null')
  if (type !== undefined || rules.type !== undefined) return type ?? 'null'
  if (rules.properties !== undefined || rules.required !== undefined) return 'object'
  if (rules.items !== undefined || rules.prefixItems !== undefined) return 'array'
  return rules.minimum !== undefined || rules.maximum !== undefined ? 'integer' : 'string'
}

function makeList(rules: Schema, making: Making, depth: number): unknown[] {
  if (depth > DEEPEST && !rules.minItems) return []
  const prefix = Array.isArray(rules.prefixItems) ? rules.prefixItems : []
  const least = Number(rules.minItems ?? 0)
  const count = Math.min(Math.max(least, prefix.length, depth === 0 ? 2 : 1), Number(rules.maxItems ?? 1_000))
  return Array.from({ length: count }, (_, index) => {
    const inner = { ...making, attempt: making.attempt + (count > 1 ? index : 0) }
    const value = makeValue(prefix[index] ?? rules.items ?? {}, inner, depth + 1)
    return typeof value === 'number' && rules.uniqueItems === true ? value + index : value
  })
}

/** What must be there and half of the rest; deep inside only what must be there. */
function makeObject(rules: Schema, making: Making, depth: number): Record<string, unknown> {
  const properties = (rules.properties ?? {}) as Record<string, unknown>
  const required = new Set((rules.required ?? []) as string[])
  const names = Object.keys(properties).filter((name, index) => required.has(name) || (depth < 3 && index % 2 === 0))
  const wanted = new Set([...names, ...required])
  if (depth > DEEPEST + 4) return {}
  const made = [...wanted].map((name) => [name, makeValue(properties[name], making, depth + 1)] as const)
  const others = rules.additionalProperties
  const open = typeof others === 'object' && Object.keys(properties).length === 0 && depth < DEEPEST
  const extra = open || Number(rules.minProperties ?? 0) > made.length
  return Object.fromEntries(extra ? [...made, ['key_one', makeValue(others, making, depth + 1)]] : made)
}

function makeNumber(rules: Schema): number {
  const least = Number(rules.minimum ?? Number.NEGATIVE_INFINITY)
  const most = Number(rules.maximum ?? Number.POSITIVE_INFINITY)
  const above = Number(rules.exclusiveMinimum ?? Number.NEGATIVE_INFINITY)
  const below = Number(rules.exclusiveMaximum ?? Number.POSITIVE_INFINITY)
  const step = typeof rules.multipleOf === 'number' && rules.multipleOf > 0 ? rules.multipleOf : undefined
  const fits = (value: number): boolean =>
    value >= least && value <= most && value > above && value < below && (step === undefined || value % step === 0)
  const near = [
    least,
    least + 1,
    most,
    most - 1,
    above + 1,
    below - 1,
    (least + most) / 2,
    (above + below) / 2,
    least + 0.5,
  ]
  const stepped = step === undefined ? [] : [step, Math.ceil(least / step) * step, step * 10]
  return [7, 1, 0, -1, ...stepped, ...near].find((value) => Number.isFinite(value) && fits(value)) ?? 7
}
