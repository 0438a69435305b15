/** The types that the leaderboard's functions declare, brought to what JSON can hold. */
export type ValueKind = 'text' | 'integer' | 'number' | 'boolean' | 'list' | 'object' | 'null'

/** What a declared type stands for; `any` where every value will do. */
export type DeclaredKind = Exclude<ValueKind, 'null'> | 'any'

const KINDS: Readonly<Record<string, DeclaredKind>> = {
  string: 'text',
  String: 'text',
  char: 'text',
  integer: 'integer',
  long: 'integer',
  short: 'integer',
  byte: 'integer',
  Bigint: 'integer',
  number: 'number',
  float: 'number',
  double: 'number',
  boolean: 'boolean',
  Boolean: 'boolean',
  bool: 'boolean',
  array: 'list',
  list: 'list',
  tuple: 'list',
  Array: 'list',
  ArrayList: 'list',
  Queue: 'list',
  Stack: 'list',
  object: 'object',
  dict: 'object',
  HashMap: 'object',
  Hashtable: 'object',
  any: 'any',
  Any: 'any',
  '': 'any',
}

/** What a type of the leaderboard stands for; undefined where it is none of them. */
export function declaredKind(type: unknown): DeclaredKind | undefined {
  if (type === undefined) return 'any'
  return typeof type === 'string' && Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
}

/** What a value of JSON is. Python tells 5.0 from 5, JSON does not: both are integers here. */
export function kindOf(value: unknown): ValueKind {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'string') return 'text'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return 'object'
}

/** Whether a value of one kind may stand where the other is wanted: an integer is a number, too. */
export const fits = (kind: ValueKind, wanted: ValueKind): boolean =>
  kind === wanted || (kind === 'integer' && wanted === 'number')
