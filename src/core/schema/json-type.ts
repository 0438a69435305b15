const WITH_ARTICLE: Readonly<Record<string, string>> = {
  integer: 'an integer',
  number: 'a number',
  string: 'a string',
  boolean: 'a boolean',
  object: 'an object',
  array: 'an array',
  null: 'null',
}

/** Whether a value has a type of JSON Schema; NaN and the infinities have none. */
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

/** Types in words: `a string or null`. */
export function typesInWords(types: readonly unknown[]): string {
  return types.map((type) => WITH_ARTICLE[String(type)] ?? String(type)).join(' or ')
}
