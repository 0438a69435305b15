import { ownValue } from '../../core/json/json-type.ts'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { SchemaReferences } from '../../core/schema/schema-references.ts'
import type { JsonSchema, Params, ToolDefinition } from '../../core/tool.ts'
import { sampleText, type TextRules, wordsOf } from './sample-text.ts'
import type { FileCase, SuiteFile } from './suite.ts'
import { SUITE_LIMITS } from './suite-schema.ts'

/** The similar tools offered beside the right one in a distractor case. */
const MAX_DISTRACTORS = 4
const CASES_PER_TOOL = 4
const MAX_TOOLS = SUITE_LIMITS.cases / CASES_PER_TOOL
const MAX_PURPOSE_CHARACTERS = 200
const MAX_DESCRIPTION_CHARACTERS = 500
/** A word in more tools than this doesn't make them similar. */
const MAX_SHARING_TOOLS = 100

const IRRELEVANT = [
  'Thank you, that was all for today.',
  'Good morning! How are you?',
  'Please tell me in one sentence why people like music.',
  'What does it mean to be patient? A few words are enough.',
]

/**
 * Generates cases from tool definitions, deterministically. Each tool gets up to four: a simple one, one among similar
 * tools, one with a missing value, and one that needs no tool.
 */
export function generateSuite(definitions: readonly ToolDefinition[]): SuiteFile {
  const usable = definitions.filter(({ parameters }) => isUsable(parameters)).slice(0, MAX_TOOLS)
  const similar = similarTools(usable)
  const without: string[] = []
  const cases = usable.flatMap((tool) => {
    const sampled = sampleParams(tool.parameters)
    if (sampled === undefined) without.push(tool.name)
    const irrelevance: FileCase = {
      id: `${tool.name}/irrelevance`,
      query: irrelevantQuery(tool),
      tools: [tool.name],
      expect: { no_call: true },
    }
    return sampled === undefined ? [irrelevance] : [...callCases(tool, sampled, similar, usable), irrelevance]
  })
  const remark = remarkOn(definitions, usable, without)
  return { name: 'generated', ...(remark !== undefined && { remark }), cases }
}

function callCases(
  tool: ToolDefinition,
  { params, needed }: SampledParams,
  similar: (tool: ToolDefinition) => string[],
  all: readonly ToolDefinition[],
): FileCase[] {
  const { name } = tool
  const purpose = purposeOf(tool)
  const expect = { calls: [{ tool: name, params: literally(params) }] }
  const named = `Use ${name}: ${purpose}`
  const cases: FileCase[] = [{ id: `${name}/simple`, query: `${named}${valuesInWords(params)}`, tools: [name], expect }]
  const like = similar(tool)
  if (like.length > 0) {
    const offered = all.filter((one) => one === tool || like.includes(one.name))
    const request = offered.some((one) => one !== tool && purposeOf(one) === purpose) ? named : purpose
    const tools = offered.map((one) => one.name)
    cases.push({ id: `${name}/distractor`, query: `${request}${valuesInWords(params)}`, tools, expect })
  }
  if (needed !== undefined) {
    const { [needed]: _left, ...others } = params
    const query = `${named}${valuesInWords(others)}`
    cases.push({ id: `${name}/missing_parameter`, query, tools: [name], expect: { forbidden: [name] } })
  }
  return cases
}

/** Wraps values that contain `$` keys in `$equals`, so that the keys aren't read as matchers. */
function literally(params: Params): Params {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, hasMatcher(value) ? { $equals: value } : value]),
  )
}

const hasMatcher = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.some(hasMatcher)
    : isObject(value) && Object.entries(value).some(([key, inner]) => key.startsWith('$') || hasMatcher(inner))

function isUsable(schema: ToolDefinition['parameters']): boolean {
  try {
    compileSchema(schema)
    return true
  } catch {
    return false
  }
}

function remarkOn(
  definitions: readonly ToolDefinition[],
  usable: readonly ToolDefinition[],
  without: readonly string[],
): string | undefined {
  const sentences: string[] = []
  const left = definitions.length - usable.length
  if (left > 0)
    sentences.push(
      `${left} of ${definitions.length} tools have no cases: their schema is invalid, or there are more than ${MAX_TOOLS} tools.`,
    )
  if (without.length > 0)
    sentences.push(`No valid parameters were found for ${without.join(', ')}: write cases for them by hand.`)
  return sentences.length === 0 ? undefined : sentences.join(' ')
}

/** The first sentence of a tool's description, without markup; the words of its name if there is no description. */
function purposeOf({ name, description }: ToolDefinition): string {
  const plain = description
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/[#*`\s]+/g, ' ')
    .trim()
  const [sentence = ''] = /^.*?[.!?](?=\s|$)/.exec(plain) ?? [plain]
  const words = sentence === '' ? wordsOf(name).join(' ') : sentence
  const short =
    words.length > MAX_PURPOSE_CHARACTERS ? `${words.slice(0, MAX_PURPOSE_CHARACTERS - 1).trimEnd()}…` : words
  return /[.!?…]$/.test(short) ? short : `${short}.`
}

/** Parameters as a sentence: ` Set city to "Paris" and days to 3.`; empty if there are none. */
function valuesInWords(params: Params): string {
  const parts = Object.entries(params).map(([name, value]) => `${name} to ${JSON.stringify(value)}`)
  const last = parts.pop()
  if (last === undefined) return ''
  return ` Set ${parts.length === 0 ? last : `${parts.join(', ')} and ${last}`}.`
}

/** The irrelevant request that shares the fewest words with a tool. */
function irrelevantQuery({ name, description }: ToolDefinition): string {
  const known = new Set([...wordsOf(name), ...wordsOf(description)].filter((word) => word.length > 3))
  const shared = IRRELEVANT.map((query) => wordsOf(query).filter((word) => known.has(word)).length)
  const fewest = IRRELEVANT.filter((_query, at) => shared[at] === Math.min(...shared))
  return fewest[name.length % fewest.length] as string
}

/**
 * Returns a function that finds up to `MAX_DISTRACTORS` tools that share the most and the rarest words with a tool, in
 * registry order. Neighbours fill up the list.
 */
function similarTools(tools: readonly ToolDefinition[]): (tool: ToolDefinition) => string[] {
  const words = tools.map(
    ({ name, description }) =>
      new Set([...wordsOf(name), ...wordsOf(description.slice(0, MAX_DESCRIPTION_CHARACTERS))]),
  )
  const entries = words.flatMap((own, number) => [...own].map((word) => ({ word, number })))
  const places = Map.groupBy(entries, ({ word }) => word)
  const numbers = new Map(tools.map((tool, number) => [tool, number]))
  return (tool) => {
    const own = numbers.get(tool) as number
    const scores = new Map<number, number>()
    for (const word of words[own] ?? []) {
      const sharing = places.get(word) ?? []
      if (sharing.length > MAX_SHARING_TOOLS) continue
      for (const { number } of sharing) scores.set(number, (scores.get(number) ?? 0) + 1 / sharing.length)
    }
    for (let away = 1; away <= MAX_DISTRACTORS; away++) {
      for (const number of [own + away, own - away]) if (number in tools) scores.set(number, scores.get(number) ?? 0)
    }
    scores.delete(own)
    const best = [...scores].sort(([one, high], [other, low]) => low - high || one - other).slice(0, MAX_DISTRACTORS)
    const chosen = best.map(([number]) => number).sort((one, other) => one - other)
    return chosen.map((number) => tools[number]?.name as string)
  }
}

interface SampledParams {
  readonly params: Params
  /** A required parameter that a model cannot guess: it has no default and, if possible, no list of values. */
  readonly needed: string | undefined
}

type Schema = Readonly<Record<string, unknown>>

interface Sampling {
  readonly references: SchemaReferences
  /** Selects among alternatives: another variant makes other choices. */
  readonly variant: number
  /** The position of the parameter, so that no two parameters get the same number. */
  readonly position: number
}

/** How many optional parameters to set, in the order tried. */
const OPTIONAL_PARAMS = [2, 1, 0]
const VARIANTS = 8
const MAX_DEPENDENT_PARAMS = 10
const MAX_SCHEMA_PARTS = 50
const MAX_DEPTH = 12
const MAX_ITEMS = 20
/** An object without required properties gets this many optional ones. */
const OPTIONAL_ENTRIES = 1

/** Typical numbers by the last word of a parameter's name. */
const NUMBERS_BY_WORD: Readonly<Record<string, number>> = {
  latitude: 48.85,
  lat: 48.85,
  longitude: 2.35,
  lng: 2.35,
  lon: 2.35,
  page: 2,
  port: 8080,
  year: 2026,
}

/** The result of `sampleValue` if no value fits the schema. */
const NONE = Symbol('none')

/** The executor refuses these names in parameters. */
const maySend = (name: string): boolean => !['__proto__', 'constructor', 'prototype'].includes(name)

/** Finds parameters that a tool's schema accepts; undefined if the search fails. Throws if the schema is invalid. */
export function sampleParams(schema: JsonSchema): SampledParams | undefined {
  const { check, explain } = compileSchema(schema)
  if (check === undefined) return undefined
  const references = new SchemaReferences(schema)
  for (const optional of OPTIONAL_PARAMS) {
    for (let variant = 0; variant < VARIANTS; variant++) {
      const root = mergedSchema(schema, references, variant)
      if (root === undefined) continue
      const names = namesOf(root, optional)
      // Some parameters are required only because others are present.
      for (let more = 0; more < MAX_DEPENDENT_PARAMS; more++) {
        const params = paramsOf(root, names, { references, variant })
        if (check(params)) return { params, needed: neededOf(root, params, references, check) }
        const missing = explain(params).find(({ rule, path }) => /equired$/.test(rule) && !names.includes(path))
        if (missing === undefined || /[.[]/.test(missing.path) || !maySend(missing.path)) break
        names.push(missing.path)
      }
    }
  }
  return undefined
}

const propertiesOf = ({ properties }: Schema): Schema => (isObject(properties) ? properties : {})
const requiredOf = ({ required }: Schema): string[] => (Array.isArray(required) ? required : [])

function namesOf(root: Schema, optional: number): string[] {
  const required = requiredOf(root).filter(maySend)
  const others = Object.keys(propertiesOf(root)).filter((name) => maySend(name) && !required.includes(name))
  return [...required, ...others.slice(0, optional)]
}

function paramsOf(root: Schema, names: readonly string[], sampling: Omit<Sampling, 'position'>): Params {
  const properties = propertiesOf(root)
  const entries = names.map((name, position) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : root.additionalProperties
    return [name, sampleValue(schema, name, { ...sampling, position }, 1)] as const
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== NONE))
}

function neededOf(
  root: Schema,
  params: Params,
  references: SchemaReferences,
  check: (params: unknown) => boolean,
): string | undefined {
  const properties = propertiesOf(root)
  const candidates = requiredOf(root).flatMap((name) => {
    const schema = isObject(root.properties) ? mergedSchema(properties[name], references, 0) : undefined
    const { [name]: _left, ...others } = params
    return schema === undefined || 'default' in schema || 'const' in schema || check(others) ? [] : [{ name, schema }]
  })
  const free = candidates.find(({ schema }) => schema.enum === undefined && schema.type !== 'boolean')
  return (free ?? candidates[0])?.name
}

/**
 * Merges a schema with its `$ref`, its `allOf` and one alternative of each `anyOf` and `oneOf`, chosen by `variant`.
 * Undefined if the schema accepts nothing.
 */
function mergedSchema(schema: unknown, references: SchemaReferences, variant: number): Schema | undefined {
  if (schema === true || schema === undefined) return {}
  if (!isObject(schema)) return undefined
  let merged: Schema = {}
  const parts: unknown[] = [schema]
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at]
    if (at > MAX_SCHEMA_PARTS || part === false) return undefined
    if (!isObject(part)) continue
    merged = merge(merged, part)
    if (part.$ref !== undefined) parts.push(references.target(part, part.$ref) ?? false)
    if (Array.isArray(part.allOf)) parts.push(...part.allOf)
    for (const forms of [part.anyOf, part.oneOf]) {
      const useful = Array.isArray(forms) ? forms.filter((form) => !isObject(form) || form.type !== 'null') : []
      if (useful.length > 0) parts.push(useful[variant % useful.length])
    }
  }
  return merged
}

function merge(one: Schema, other: Schema): Schema {
  return {
    ...other,
    ...one,
    ...(isObject(one.properties) &&
      isObject(other.properties) && { properties: { ...other.properties, ...one.properties } }),
    ...(Array.isArray(one.required) &&
      Array.isArray(other.required) && { required: [...new Set([...one.required, ...other.required])] }),
  }
}

/** Finds a value for a schema: an example, a listed value, the default, else a value of its type. */
function sampleValue(source: unknown, name: string, sampling: Sampling, depth: number, number = 0): unknown {
  const schema = depth > MAX_DEPTH ? undefined : mergedSchema(source, sampling.references, sampling.variant)
  if (schema === undefined) return NONE
  if ('const' in schema) return schema.const
  const listed = listedValues(schema)
  if (listed.length > 0) return listed[(sampling.variant + number) % listed.length]
  const type = typeOf(schema)
  switch (type) {
    case 'string':
      if (typeof schema.default === 'string' && schema.default !== '' && number === 0) return schema.default
      return sampleText({ ...schema, name, number } as TextRules)
    case 'integer':
    case 'number':
      if (typeof schema.default === 'number' && number === 0) return schema.default
      return sampleNumber(name, schema, type === 'integer', sampling.position + number)
    case 'boolean':
      return schema.default !== true
    case 'array':
      return sampleList(schema, name, sampling, depth)
    case 'object':
      return sampleObject(schema, sampling, depth)
    case 'null':
      return null
    default:
      return schema.default ?? sampleText({ name, number })
  }
}

/** Examples first, then enum values, preferably not the default. */
function listedValues({ examples, example, enum: list, default: preset }: Schema): readonly unknown[] {
  const given = Array.isArray(examples) ? examples : example === undefined ? [] : [example]
  if (!Array.isArray(list)) return given
  const useful = list.filter((value) => value !== null && value !== '' && value !== preset)
  return [...given.filter((value) => list.includes(value)), ...(useful.length > 0 ? useful : list)]
}

function typeOf({ type, properties, items, minimum, maximum, pattern }: Schema): unknown {
  const types = Array.isArray(type) ? type : [type]
  const named = types.find((one) => one !== 'null') ?? types[0]
  if (named !== undefined) return named
  if (properties !== undefined) return 'object'
  if (items !== undefined) return 'array'
  if (minimum !== undefined || maximum !== undefined) return 'number'
  return pattern === undefined ? undefined : 'string'
}

function sampleNumber(name: string, schema: Schema, integer: boolean, number: number): number {
  const { multipleOf, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  const step = typeof multipleOf === 'number' && multipleOf > 0 ? multipleOf : 1
  // Numbers between 0 and 1 exist too, so an exclusive bound moves by at most 0.1.
  const gap = integer ? step : Math.min(step, 0.1)
  const least = lowerBound(minimum, exclusiveMinimum, gap)
  const most = -lowerBound(negative(maximum), negative(exclusiveMaximum), gap)
  const likely = (ownValue(NUMBERS_BY_WORD, wordsOf(name).at(-1) ?? '') ?? 5) + number
  const wanted = Math.min(Math.max(likely, least), most)
  if (multipleOf === undefined) {
    if (!integer) return wanted
    return Math.floor(wanted) >= least ? Math.floor(wanted) : Math.floor(wanted) + 1
  }
  const multiple = Math.ceil(wanted / step) * step
  return multiple <= most ? multiple : Math.floor(most / step) * step
}

const negative = (bound: unknown): unknown => (typeof bound === 'number' ? -bound : bound)

/** `exclusive` is a bound of its own, or `true` in older schemas, which makes `inclusive` exclusive. */
function lowerBound(inclusive: unknown, exclusive: unknown, gap: number): number {
  const bounds = [Number.NEGATIVE_INFINITY]
  if (typeof inclusive === 'number') bounds.push(exclusive === true ? inclusive + gap : inclusive)
  if (typeof exclusive === 'number') bounds.push(exclusive + gap)
  return Math.max(...bounds)
}

function sampleList(schema: Schema, name: string, sampling: Sampling, depth: number): unknown {
  const { default: preset, items, prefixItems, minItems, maxItems } = schema
  if (Array.isArray(preset) && preset.length > 0) return preset
  const most = typeof maxItems === 'number' ? maxItems : MAX_ITEMS
  const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
  const rest = Array.isArray(items) ? schema.additionalItems : items
  const wanted = Math.max(typeof minItems === 'number' ? minItems : 1, first.length)
  const list: unknown[] = []
  for (let at = 0; at < Math.min(wanted, most, MAX_ITEMS); at++) {
    list.push(sampleValue(first[at] ?? rest, singular(name), sampling, depth + 1, at < first.length ? 0 : at))
  }
  return list.includes(NONE) ? NONE : list
}

const singular = (name: string): string => name.replace(/(?<=..)s$/, '')

/** Required properties, else the first optional one; a map gets keys named `key`, `key2`, … */
function sampleObject(schema: Schema, sampling: Sampling, depth: number): unknown {
  const { default: preset, additionalProperties: others, minProperties } = schema
  if (isObject(preset) && Object.keys(preset).length > 0) return preset
  const properties = propertiesOf(schema)
  const required = requiredOf(schema)
  const least = Math.max(typeof minProperties === 'number' ? minProperties : 0, OPTIONAL_ENTRIES)
  const optional = Object.keys(properties).filter((name) => !required.includes(name) && maySend(name))
  const names = [...required, ...optional.slice(0, Math.max(0, least - required.length))]
  const entries = new Map<string, unknown>()
  for (const name of names) {
    const value = maySend(name) ? sampleValue(ownValue(properties, name) ?? others, name, sampling, depth + 1) : NONE
    if (value !== NONE) entries.set(name, value)
    else if (required.includes(name)) return NONE
  }
  for (let at = 1; others !== false && entries.size < least && at <= least; at++) {
    const value = sampleValue(others, 'value', sampling, depth + 1, at - 1)
    if (value !== NONE) entries.set(at === 1 ? 'key' : `key${at}`, value)
  }
  return Object.fromEntries(entries)
}
