import type { JsonSchema } from '../../core/tool.ts'

/** What a parameter carries that a server over HTTP wants in a header as well. */
const MARK = 'x-mcp-header'
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
const MIRRORED_TYPES: readonly unknown[] = ['string', 'integer', 'boolean']
/** Keywords under which schemas stand: by name, or alone and in lists. */
const BY_NAME = ['$defs', 'definitions', 'patternProperties', 'dependentSchemas']
const NESTED = [
  ...['items', 'prefixItems', 'additionalItems', 'contains', 'additionalProperties', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties', 'oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else'],
]

interface Place {
  readonly schema: unknown
  readonly path: string
  /** A parameter, or part of one, that is there in every call or is left out: nothing else has one value to send. */
  readonly isParameter: boolean
}

/**
 * Why the parameters of a tool cannot be sent in headers as its schema asks; undefined where they can, or none is to be.
 * From 2026-07-28 on a client over HTTP must leave such a tool out.
 */
export function mirroringProblem(parameters: JsonSchema): string | undefined {
  const names = new Set<string>()
  const places: Place[] = [{ schema: parameters, path: '', isParameter: false }]
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { schema, path } = place
    if (typeof schema !== 'object' || schema === null) continue
    if (Object.hasOwn(schema, MARK)) {
      const problem = markProblem(place, names)
      if (problem !== undefined) return `${MARK} of ${path || 'the schema'} ${problem}`
    }
    places.push(...placesBelow(place))
  }
  return undefined
}

function markProblem({ schema, isParameter }: Place, names: Set<string>): string | undefined {
  const { [MARK]: name, type } = schema as Record<string, unknown>
  if (!isParameter) return 'does not belong to a parameter'
  if (typeof name !== 'string' || !HEADER_NAME.test(name)) return 'cannot be the name of a header'
  if (!MIRRORED_TYPES.includes(type)) return 'is for a type that no header can hold'
  if (names.has(name.toLowerCase())) return 'is another parameter’s too'
  names.add(name.toLowerCase())
  return undefined
}

function placesBelow({ schema, path, isParameter }: Place): Place[] {
  const held = schema as Record<string, unknown>
  const named = (key: string, reached: boolean): Place[] =>
    Object.entries(Object(held[key])).map(([name, one]) => ({
      schema: one,
      path: path === '' ? name : `${path}.${name}`,
      isParameter: reached,
    }))
  const reached = path === '' || isParameter
  return [
    ...named('properties', reached),
    ...BY_NAME.flatMap((key) => named(key, false)),
    ...NESTED.flatMap((key) =>
      [held[key]].flat().map((one) => ({ schema: one, path: `${path}<${key}>`, isParameter: false })),
    ),
  ]
}
