import { foreignText } from './json-depth.ts'

const WITH_ARTICLE: ReadonlyMap<string, string> = new Map([
  ['integer', 'an integer'],
  ['number', 'a number'],
  ['string', 'a string'],
  ['boolean', 'a boolean'],
  ['object', 'an object'],
  ['array', 'an array'],
  ['null', 'null'],
])

export function hasType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value)
    case 'number':
      return Number.isFinite(value)
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    default:
      return typeof value === type
  }
}

export function typesInWords(types: readonly unknown[]): string {
  return types.map((type) => WITH_ARTICLE.get(foreignText(type)) ?? foreignText(type)).join(' or ')
}

/** Tolerates rounding errors: 19.99 is a multiple of 0.01, although the quotient is 1998.9999999999998. */
export function isMultipleOf(value: number, divisor: number): boolean {
  const quotient = value / divisor
  if (!Number.isFinite(quotient)) return value % divisor === 0
  return Math.abs(quotient - Math.round(quotient)) <= Math.min(Math.abs(quotient) * 4 * Number.EPSILON, 1e-6)
}

/** The value of an own property. A plain `record[name]` also finds what objects inherit, such as `constructor`. */
export function ownValue<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/** Sets an own property of any name. A plain assignment to `__proto__` would replace the prototype. */
export function setOwn(record: object, name: string, value: unknown): void {
  if (name !== '__proto__') (record as Record<string, unknown>)[name] = value
  else Object.defineProperty(record, name, { value, writable: true, enumerable: true, configurable: true })
}
