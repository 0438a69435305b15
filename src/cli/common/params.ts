import { TENANT_NAME } from '../../app/callers/tenants.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import { parseJson } from '../../core/json/json-depth.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { JsonSchema, Params } from '../../core/tool.ts'
import { type GlobalOptions, printableLine, UsageError } from './terminal.ts'

/** Reads a whole number in a range. */
export function readInteger(option: string, text: string, min: number, max: number): number {
  const number = Number(text)
  if (/^\d{1,15}$/.test(text) && number >= min && number <= max) return number
  throw new UsageError(`${option} takes a whole number from ${min} to ${max}, not '${printableLine(text)}'.`)
}

/** Reads a number in a range. */
export function readNumber(option: string, text: string, min: number, max: number): number {
  const number = Number(text)
  if (text.trim() !== '' && number >= min && number <= max) return number
  throw new UsageError(`${option} takes a number from ${min} to ${max}, not '${printableLine(text)}'.`)
}

/** The option of commands that read the records of one tenant. */
export const TENANT_OPTION = ['--tenant <id>', 'the tenant (default local)'] as const

export interface TenantOptions extends GlobalOptions {
  readonly tenant?: string
}

/** The tenant that the options name. */
export const tenantOf = ({ tenant }: TenantOptions): string =>
  tenant === undefined ? LOCAL_TENANT : tenantName(tenant)

/** Checks the name of a tenant. */
export function tenantName(text: string): string {
  if (TENANT_NAME.test(text)) return text
  throw new UsageError(
    `A tenant name takes up to 64 letters, digits, dots, dashes and underscores, not '${printableLine(text)}'.`,
  )
}

/** Twice what a call may hold, so that the executor reports the limit. */
const MAX_STDIN_BYTES = 2 * 1024 * 1024
const PAIR = /^([^\s={}[\]"']+)=(.*)$/s
const STDIN = 'stdin'
const FORMS = 'Give one JSON object, - to read it from stdin, or key=value pairs.'

/** Reads the parameters of a call: one JSON object, `-` for stdin, or `key=value` pairs typed by the tool's schema. */
export async function readParams(
  words: readonly string[],
  schema: JsonSchema | undefined,
  input: AsyncIterable<Buffer | string>,
): Promise<Params> {
  const [first, ...more] = words
  if (first === undefined) return {}
  if (PAIR.test(first)) return readParamPairs(words, schema)
  if (more.length > 0) {
    throw new UsageError(`${words.length} parameters were given and ${quoted(first)} is not a key=value pair. ${FORMS}`)
  }
  return first === '-' ? readObject(await readAll(input), STDIN) : readObject(first, 'the parameter')
}

function readParamPairs(words: readonly string[], schema: JsonSchema | undefined): Params {
  const pairs = new Map<string, unknown>()
  for (const word of words) {
    const [, key, text] = PAIR.exec(word) ?? []
    if (key === undefined || text === undefined)
      throw new UsageError(`${quoted(word)} is not a key=value pair. ${FORMS}`)
    if (pairs.has(key)) throw new UsageError(`${quoted(key)} is given twice. Write a list as JSON: ${key}='["a","b"]'`)
    pairs.set(key, typedValue(text, schema && parameterSchema(schema, key)))
  }
  // Keeps `__proto__` as an own property, so that the executor rejects it.
  return Object.fromEntries(pairs)
}

function readObject(text: string, place: string): Params {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    if (place !== STDIN && !/^\s*[{[]/.test(text)) {
      throw new UsageError(`${quoted(text)} is neither a JSON object nor a key=value pair. ${FORMS}`)
    }
    const reason = printableLine(error instanceof Error ? error.message : String(error))
    throw new UsageError(`${place} is not valid JSON: ${reason}. ${FORMS}`)
  }
  if (isObject(value)) return value
  const what = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
  throw new UsageError(`${place} must be a JSON object, not ${what}. ${FORMS}`)
}

async function readAll(input: AsyncIterable<Buffer | string>): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of input) {
    const bytes = Buffer.from(piece)
    size += bytes.length
    if (size > MAX_STDIN_BYTES)
      throw new UsageError(`stdin has more than ${MAX_STDIN_BYTES} bytes, which is the limit.`)
    pieces.push(bytes)
  }
  return Buffer.concat(pieces)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
}

const TYPES = new Set(['string', 'integer', 'number', 'boolean', 'null', 'array', 'object'])

/**
 * Reads the value of a `key=value` pair by the schema of the parameter. If the schema accepts strings or declares no
 * type, the value stays text; otherwise it is parsed as JSON if possible. Validation reports values that do not match.
 */
export function typedValue(text: string, schema: JsonSchema | undefined): unknown {
  if (schema === undefined) return text
  const choices = choicesOf(schema)
  const chosen = choices.find((choice) => choice === text || JSON.stringify(choice) === text)
  if (chosen !== undefined) return chosen
  const wanted = typesOf(schema, 0)
  if (wanted.size === 0 || wanted.has('string')) return text
  try {
    return parseJson(text)
  } catch {
    return text
  }
}

/** The schema of one parameter, if the tool's schema declares it. */
export function parameterSchema(parameters: JsonSchema, name: string): JsonSchema | undefined {
  const { properties } = parameters
  if (!isObject(properties) || !Object.hasOwn(properties, name)) return undefined
  const schema = properties[name]
  return isObject(schema) ? schema : undefined
}

/** The values of an enum, a const or a boolean schema. */
export function choicesOf(schema: JsonSchema): readonly unknown[] {
  if (Array.isArray(schema.enum)) return schema.enum
  if ('const' in schema) return [schema.const]
  return schema.type === 'boolean' ? [true, false] : []
}

function typesOf(schema: JsonSchema, depth: number): Set<string> {
  const declared = [schema.type].flat().filter((type): type is string => typeof type === 'string' && TYPES.has(type))
  if (declared.length > 0 || depth > 2) return new Set(declared)
  const members = [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list : [])).filter(isObject)
  return new Set(members.flatMap((member) => [...typesOf(member, depth + 1)]))
}

const KEY_VALUE = /^([^=]+)=(.*)$/s

/** Reads an option that takes `key=value` and may be repeated. */
export function readPairs(option: string, words: readonly string[]): Readonly<Record<string, string>> {
  const pairs = new Map<string, string>()
  for (const word of words) {
    const [, key, value] = KEY_VALUE.exec(word) ?? []
    if (key === undefined || value === undefined) {
      throw new UsageError(`${option} takes key=value, not '${printableLine(word)}'.`)
    }
    if (pairs.has(key)) throw new UsageError(`${option} is given twice for '${printableLine(key)}'.`)
    pairs.set(key, value)
  }
  // Keeps `__proto__` as an own property, so that the executor rejects it.
  return Object.fromEntries(pairs)
}

/** Collects the values of an option that may be repeated. */
export const collect = (word: string, words: readonly string[] = []): string[] => [...words, word]

/** A time in milliseconds since 1970. */
export function readTime(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  if (!Number.isNaN(time)) return time
  throw new UsageError(
    `${option} takes a time such as 2026-01-31 or 2026-01-31T12:00:00Z, not '${printableLine(text)}'.`,
  )
}
