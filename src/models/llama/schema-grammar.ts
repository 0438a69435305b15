import { foreignText } from '../../core/json/json-depth.ts'
import { ownValue } from '../../core/json/json-type.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { OfferedTool } from '../model.ts'

/** The engine rejects 2,000 repetitions, so longer limits are left to the executor. */
const MAX_REPETITIONS = 1_000
const MAX_ENUMERATED = 200
const MAX_DEPTH = 20

/** JSON rules. They allow one space after `:` and `,`, as most models write it. */
const BASICS: Readonly<Record<string, string>> = {
  value: 'object | array | string | number | "true" | "false" | "null"',
  object: '"{" (member ("," " "? member)*)? "}"',
  member: 'string ":" " "? value',
  array: '"[" (value ("," " "? value)*)? "]"',
  string: '"\\"" char* "\\""',
  char: '[^"\\\\\\x00-\\x1F\\x7F] | "\\\\" ["\\\\/bfnrt]',
  digits: '"0" | [1-9] [0-9]{0,14}',
  integer: '"-"? digits',
  decimal: 'digits ("." [0-9]{1,9})?',
  number: '"-"? decimal',
  date: '[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])',
  time: '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])',
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '"\\"" date "\\""',
  time: '"\\"" time "\\""',
  'date-time': '"\\"" date "T" time "\\""',
}

const literal = (text: string): string => JSON.stringify(text)

/**
 * Builds a GBNF grammar from JSON Schemas. Keywords that a grammar can't express (patterns, most formats, wide ranges,
 * `not`) are left to the executor.
 */
export class SchemaGrammar {
  readonly #rules = new Map<string, string>(Object.entries(BASICS))

  toText(root: string): string {
    return [`root ::= ${root}`, ...Array.from(this.#rules, ([name, body]) => `${name} ::= ${body}`), ''].join('\n')
  }

  /** An expression for the values of a schema; references are resolved in the schema itself. */
  expression(schema: JsonSchema): string {
    return this.#any(schema, { root: schema, known: new Map(), depth: 0 })
  }

  #rule(body: string): string {
    const name = `r${this.#rules.size}`
    this.#rules.set(name, body)
    return name
  }

  #any(given: unknown, around: Around): string {
    if (!isObject(given) || around.depth > MAX_DEPTH) return 'value'
    const within = { ...around, depth: around.depth + 1 }
    if (typeof given.$ref === 'string') return this.#reference(given.$ref, within)
    const schema = Array.isArray(given.allOf) ? merged(given, given.allOf) : given
    if ('const' in schema) return literal(JSON.stringify(schema.const))
    if (Array.isArray(schema.enum)) return oneOf(schema.enum.map((value) => literal(JSON.stringify(value))))
    const choices = schema.anyOf ?? schema.oneOf
    if (Array.isArray(choices)) return oneOf(choices.map((choice) => this.#any(choice, within)))
    const types: readonly unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type ?? typeOf(schema)]
    return oneOf(types.map((type) => this.#typed(type, schema, within)))
  }

  #typed(type: unknown, schema: JsonSchema, around: Around): string {
    switch (type) {
      case 'object':
        return this.#object(schema, around)
      case 'array':
        return this.#array(schema, around)
      case 'string':
        return ownValue(FORMATS, foreignText(schema.format)) ?? string(schema)
      case 'integer':
        return integer(schema)
      case 'number':
        return Number(schema.minimum) >= 0 ? 'decimal' : 'number'
      case 'boolean':
        return '("true" | "false")'
      case 'null':
        return '"null"'
      default:
        return 'value'
    }
  }

  /** One rule per target, so that recursion ends. */
  #reference(pointer: string, around: Around): string {
    const known = around.known.get(pointer)
    if (known !== undefined) return known
    const name = this.#rule('value')
    around.known.set(pointer, name)
    this.#rules.set(name, this.#any(lookUp(around.root, pointer), around))
    return name
  }

  #array({ items, minItems, maxItems }: JsonSchema, around: Around): string {
    const item = this.#rule(this.#any(items, around))
    const least = typeof minItems === 'number' && minItems <= MAX_REPETITIONS ? minItems : 0
    const most = typeof maxItems === 'number' && maxItems <= MAX_REPETITIONS ? maxItems : undefined
    if (most === 0) return '"[]"'
    const more = `("," " "? ${item}){${Math.max(0, least - 1)},${most === undefined ? '' : most - 1}}`
    return least > 0 ? `"[" ${item} ${more} "]"` : `"[" (${item} ${more})? "]"`
  }

  /** Required properties first, then optional ones, in the order of the schema; no others. */
  #object({ properties, required, additionalProperties }: JsonSchema, around: Around): string {
    const needed = new Set<unknown>(Array.isArray(required) ? required : [])
    const described = isObject(properties) ? properties : {}
    const names = [...new Set([...Object.keys(described), ...[...needed].filter((name) => typeof name === 'string')])]
    const pair = (name: string): string =>
      this.#rule(`${literal(`${JSON.stringify(name)}:`)} " "? ${this.#any(ownValue(described, name), around)}`)
    const must = names.filter((name) => needed.has(name)).map(pair)
    const may = names.filter((name) => !needed.has(name)).map(pair)
    if (names.length === 0) return isObject(properties) || additionalProperties === false ? '"{}"' : 'object'
    // A rule for each rest of the list: written out, many optional properties would be a grammar of megabytes.
    let rest = ''
    const rests = may.toReversed().map((one) => {
      const begun = `${one} ${rest}`
      rest = this.#rule(`("," " "? ${one})? ${rest}`)
      return begun
    })
    if (must.length > 0) return `"{" ${must.join(' "," " "? ')} ${rest} "}"`
    return `"{" (${rests.toReversed().join(' | ')})? "}"`
  }
}

export function schemaGrammar(schema: JsonSchema): string {
  const grammar = new SchemaGrammar()
  return grammar.toText(grammar.expression(schema))
}

interface Around {
  readonly root: JsonSchema
  readonly known: Map<string, string>
  readonly depth: number
}

const oneOf = (expressions: readonly string[]): string =>
  expressions.length === 1
    ? (expressions[0] as string)
    : expressions.length === 0
      ? 'value'
      : `(${expressions.join(' | ')})`

const typeOf = (schema: JsonSchema): string | undefined =>
  'properties' in schema ? 'object' : 'items' in schema ? 'array' : undefined

/** Merges `allOf`: properties and `required` are combined, other keywords overwritten. */
function merged({ allOf: _, ...schema }: JsonSchema, parts: readonly unknown[]): JsonSchema {
  const all = [schema, ...parts.filter(isObject)]
  const properties = all.map((part) => part.properties).filter(isObject)
  const required = all.flatMap((part) => (Array.isArray(part.required) ? part.required : []))
  const whole: JsonSchema = Object.assign({}, ...all)
  return properties.length === 0 ? whole : { ...whole, properties: Object.assign({}, ...properties), required }
}

function string({ minLength, maxLength }: JsonSchema): string {
  const least = typeof minLength === 'number' && minLength <= MAX_REPETITIONS ? minLength : 0
  const most = typeof maxLength === 'number' && maxLength <= MAX_REPETITIONS ? maxLength : ''
  return least === 0 && most === '' ? 'string' : `"\\"" char{${least},${most}} "\\""`
}

function integer({ minimum, maximum }: JsonSchema): string {
  if (typeof minimum !== 'number' || minimum < 0) return 'integer'
  const [least, most] = [
    Math.ceil(minimum),
    typeof maximum === 'number' ? Math.floor(maximum) : Number.POSITIVE_INFINITY,
  ]
  if (most - least >= MAX_ENUMERATED || most < least) return 'digits'
  return oneOf(Array.from({ length: most - least + 1 }, (_, index) => literal(String(least + index))))
}

function lookUp(root: JsonSchema, pointer: string): unknown {
  if (!pointer.startsWith('#')) return undefined
  return pointer
    .slice(1)
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], root)
}

/** The start of a reply, up to the arguments or the answer. */
export const CALL_HEAD = /^\{"name": ("(?:[^"\\]|\\.)*"), "arguments": /
export const ANSWER_HEAD = '{"answer": "'

export const writtenCall = (name: string, args: string): string =>
  `{"name": ${JSON.stringify(name)}, "arguments": ${args}}`

/** The grammar of a reply: a call of an offered tool, or an answer unless a call is required. */
export function toolGrammar(tools: readonly OfferedTool[], isRequired = false): string {
  const grammar = new SchemaGrammar()
  const calls = tools.map(({ name, parameters }) => {
    const head = literal(`{"name": ${JSON.stringify(name)}, "arguments": `)
    return `${head} ${grammar.expression(parameters)} "}"`
  })
  const answer = isRequired ? [] : [`${literal(ANSWER_HEAD)} char+ "\\"}"`]
  return grammar.toText([...calls, ...answer].join(' | '))
}
