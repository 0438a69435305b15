import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/*
 * What each provider documents, or is known to refuse, repeated here: nothing here comes from the
 * compiler. A checker gives the faults of a body as it came over the wire.
 */

type Json = Readonly<Record<string, unknown>>
type Checker = (body: Json) => string[]

const ajv = new Ajv2020({ strict: false, allErrors: false })
const node = { $ref: '#/$defs/node' }
const map = { type: 'object', additionalProperties: node }
const list = { type: 'array', items: node }
const text = { type: 'string' }
const names = { type: 'array', items: text }
const count = { type: 'integer', minimum: 0 }
const number = { type: 'number' }
const TYPE = { enum: ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] }

const subset = (properties: Json, rules: Json = {}): ValidateFunction =>
  ajv.compile({ ...node, $defs: { node: { type: 'object', properties, additionalProperties: false, ...rules } } })

const only = (keyword: string, ...beside: string[]): Json => ({
  if: { required: [keyword] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { propertyNames: { enum: [keyword, ...beside] } },
})

/** Of `parametersJsonSchema`; references are documented, too, but we send none. */
const gemini = subset(
  {
    type: { anyOf: [TYPE, { type: 'array', items: TYPE, minItems: 2, maxItems: 2, contains: { const: 'null' } }] },
    format: { enum: ['date-time', 'float', 'double', 'int32', 'int64'] },
    title: text,
    description: text,
    enum: { type: 'array', minItems: 1, items: { anyOf: [{ type: 'string', minLength: 1 }, number] } },
    items: node,
    prefixItems: list,
    minItems: count,
    maxItems: count,
    minimum: number,
    maximum: number,
    anyOf: { ...list, minItems: 1 },
    properties: map,
    additionalProperties: { anyOf: [{ type: 'boolean' }, node] },
    required: names,
  },
  only('anyOf', 'title', 'description'),
)

/** `api.ToolProperty` of Ollama, which fails to decode anything else; `items` may hold anything. */
const ollamaProperty = {
  anyOf: list,
  type: { anyOf: [TYPE, { type: 'array', items: TYPE }] },
  items: {},
  description: text,
  enum: { type: 'array' },
  properties: map,
  required: names,
}
const ollamaRoot = ajv.compile({
  type: 'object',
  properties: { type: { const: 'object' }, $defs: {}, items: {}, required: names, properties: map },
  required: ['type', 'properties'],
  additionalProperties: false,
  $defs: { node: { type: 'object', properties: ollamaProperty, additionalProperties: false } },
})

/** Of strict mode at OpenAI. */
const strict = subset(
  {
    $defs: map,
    $ref: { type: 'string', pattern: '^#/\\$defs/' },
    type: { anyOf: [TYPE, { type: 'array', items: TYPE }] },
    title: text,
    description: text,
    enum: { type: 'array', minItems: 1 },
    const: {},
    items: node,
    properties: map,
    required: names,
    additionalProperties: { const: false },
    anyOf: { ...list, minItems: 1 },
    pattern: { type: 'string', not: { pattern: '\\(\\?[=!<]' } },
    format: { enum: ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'] },
    minimum: number,
    maximum: number,
    exclusiveMinimum: number,
    exclusiveMaximum: number,
    multipleOf: number,
    minItems: count,
    maxItems: count,
  },
  {
    allOf: [only('$ref'), { anyOf: [{ required: ['type'] }, { required: ['anyOf'] }, { required: ['$ref'] }] }],
    if: { properties: { type: { const: 'object' } }, required: ['type'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['properties', 'required', 'additionalProperties'] },
  },
)

/** The checkers, by the way a body is sent. */
export const SUBSETS = {
  'openai responses': (body) => tools(body.tools).flatMap((tool) => openai(tool, tool)),
  'openai chat': (body) => tools(body.tools).flatMap((tool) => openai(tool.function as Json, tool)),
  anthropic: (body) => tools(body.tools).flatMap((tool) => anthropic(tool)),
  gemini: (body) =>
    tools((body.tools as Json[])[0]?.functionDeclarations).flatMap((tool) => {
      const schema = tool.parametersJsonSchema as Json
      return faults(tool, 'functionDeclaration', [
        [/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(String(tool.name)), 'name'],
        [schema.type === 'object', 'no object'],
        [gemini(schema), reason(gemini)],
        [nodes(schema).every(requiresNamed), 'requires what has no schema'],
        [nodes(schema).every((one) => one.type !== 'array' || 'items' in one || 'prefixItems' in one), 'no items'],
      ])
    }),
  ollama: (body) =>
    tools(body.tools).flatMap((tool) => {
      const { name, parameters, ...rest } = tool.function as Json
      return faults(tool.function as Json, 'function', [
        [typeof name === 'string' && name !== '', 'name'],
        [ollamaRoot(parameters), reason(ollamaRoot)],
        [Object.keys(rest).join() === 'description', 'more than the Qwen form'],
      ])
    }),
} satisfies Record<string, Checker>

function openai(tool: Json, outer: Json): string[] {
  const schema = tool.parameters as Json
  const all = nodes(schema)
  return faults(tool, outer.type, [
    [/^[a-zA-Z0-9_-]{1,64}$/.test(String(tool.name)), 'name'],
    [schema.type === 'object' && 'properties' in schema, 'no object'],
    [!['oneOf', 'anyOf', 'allOf', 'enum', 'const', 'not'].some((key) => key in schema), 'choice at the root'],
    [ajv.validateSchema(schema), 'no JSON Schema 2020-12'],
    [all.every((one) => ![one.type].flat().includes('array') || typeof one.items !== 'undefined'), 'no items'],
    [all.every((one) => !('propertyNames' in one)), 'propertyNames'],
    [all.every((one) => !/\(\?[=!<]|\\p\{/.test(String(one.pattern))), 'pattern'],
    [all.every((one) => leadsSomewhere(schema, one.$ref)), '$ref'],
    [typeof tool.strict === 'boolean', 'strict is not said'],
    ...(tool.strict === true ? strictFaults(schema, all) : []),
  ])
}

function strictFaults(schema: Json, all: readonly Json[]): [unknown, string][] {
  const objects = all.filter((one) => one.type === 'object')
  const values = all.flatMap((one) => (one.enum as unknown[] | undefined) ?? [])
  return [
    [strict(schema), `strict: ${reason(strict)}`],
    [objects.every((one) => same(one.required, Object.keys(one.properties as Json))), 'strict: not all required'],
    [objects.reduce((sum, one) => sum + Object.keys(one.properties as Json).length, 0) <= 5000, 'strict: properties'],
    [values.length <= 1000, 'strict: values'],
    [levels(schema) <= 10, 'strict: levels'],
  ]
}

function anthropic(tool: Json): string[] {
  const schema = tool.input_schema as Json
  return faults(tool, 'tool', [
    [/^[a-zA-Z0-9_-]{1,128}$/.test(String(tool.name)), 'name'],
    [schema.type === 'object', 'no object'],
    [!['oneOf', 'anyOf', 'allOf'].some((key) => key in schema), 'choice at the root'],
    [ajv.validateSchema(schema), 'no JSON Schema 2020-12'],
    [
      Object.keys((schema.properties ?? {}) as Json).every((key) => /^[a-zA-Z0-9_.-]{1,64}$/.test(key)),
      'parameter name',
    ],
    [nodes(schema).every((one) => leadsSomewhere(schema, one.$ref)), '$ref'],
  ])
}

function faults(tool: Json, what: unknown, rules: readonly [unknown, string][]): string[] {
  return rules.filter(([holds]) => holds !== true).map(([, fault]) => `${String(what)} ${String(tool.name)}: ${fault}`)
}

function tools(value: unknown): Json[] {
  return Array.isArray(value) ? value : [{ name: 'no tools' }]
}

/** Every object inside a schema that could be one; properties may be named like keywords, so maps are stepped over. */
function nodes(schema: unknown): Json[] {
  if (Array.isArray(schema)) return schema.flatMap(nodes)
  if (typeof schema !== 'object' || schema === null) return []
  const inner = Object.entries(schema).flatMap(([key, value]) => {
    if (['properties', '$defs', 'patternProperties'].includes(key)) return Object.values(value as Json).flatMap(nodes)
    return ['enum', 'const', 'default', 'examples'].includes(key) ? [] : nodes(value)
  })
  return [schema as Json, ...inner]
}

function levels(schema: unknown): number {
  const below = nodes(schema).slice(1)
  return 1 + Math.max(0, ...below.filter((one) => one.type === 'object').map(levels))
}

const requiresNamed = ({ required = [], properties = {} }: Json): boolean =>
  (required as string[]).every((name) => name in (properties as Json))

const leadsSomewhere = (schema: Json, reference: unknown): boolean =>
  reference === undefined || String(reference).replace('#/$defs/', '') in ((schema.$defs ?? {}) as Json)

const same = (one: unknown, other: readonly string[]): boolean =>
  Array.isArray(one) && one.length === other.length && other.every((name) => one.includes(name))

const reason = (check: ValidateFunction): string => ajv.errorsText(check.errors)
