import { guardSchema } from '../core/schema/guard-schema.ts'
import { RefusedSchemaError } from '../core/schema/schema-references.ts'
import type { JsonSchema } from '../core/tool.ts'
import { Unmappable } from './documents.ts'
import { plainText, sentences } from './plain-text.ts'
import { isShortExample, type SchemaPart } from './schema-part.ts'
import { type Extent, SchemaWriter, TooLarge } from './write-schema.ts'

/** A parameter of a tool. */
export interface ToolParameter {
  readonly name: string
  readonly part: SchemaPart
  readonly required: boolean
  readonly description?: string
  readonly deprecated?: boolean
  readonly example?: unknown
}

/** Rules about all parameters together. */
export interface WholeRules {
  /** Whether no others may be sent. */
  readonly closed?: boolean
  /** Lists of parameters of which one must be there whole. */
  readonly oneRequired?: readonly (readonly (readonly string[])[])[]
}

const MAX_PARAMETERS = 1_000
const MAX_DESCRIPTION = 500
const SHORT_DESCRIPTION = 120
/** Deeper schemas are refused anyway. */
const MAX_DEPTH = 30

/**
 * One object schema for the parameters of a tool. Where it would be larger than a tool's schema may be, descriptions are
 * shortened, then what lies deepest is left open. Throws `Unmappable` where even that does not help.
 */
export function assembleSchema(
  parameters: readonly ToolParameter[],
  rules: WholeRules,
): { readonly schema: JsonSchema; readonly notes: readonly string[] } {
  const tooLarge = `its ${parameters.length} parameters are too large for one tool`
  if (parameters.length > MAX_PARAMETERS) throw new Unmappable(tooLarge)
  const attempt = (extent: Extent) => written(parameters, rules, extent)
  const whole = attempt({ deepest: MAX_DEPTH, description: MAX_DESCRIPTION })
  if (whole !== undefined) return whole
  const terse = attempt({ deepest: MAX_DEPTH, description: SHORT_DESCRIPTION })
  if (terse !== undefined)
    return withNote(terse, 'descriptions in its parameters are shortened: together they are too long')
  let best: ReturnType<typeof written>
  let deepest = 0
  for (; deepest < MAX_DEPTH; deepest++) {
    const next = attempt({ deepest, description: SHORT_DESCRIPTION })
    if (next === undefined) break
    best = next
  }
  if (best === undefined) throw new Unmappable(tooLarge)
  const below = deepest === 2 ? '1 level' : `${deepest - 1} levels`
  const what = deepest === 1 ? 'what is inside them' : `what is deeper than ${below}`
  return withNote(best, `its parameters are too large for one tool: ${what} is left open`)
}

function withNote(assembled: NonNullable<ReturnType<typeof written>>, note: string) {
  return { ...assembled, notes: [note, ...assembled.notes] }
}

/** The schema to that extent; undefined if it is too large. */
function written(
  parameters: readonly ToolParameter[],
  { closed, oneRequired = [] }: WholeRules,
  extent: Extent,
): { readonly schema: JsonSchema; readonly notes: readonly string[] } | undefined {
  try {
    const writer = new SchemaWriter(
      parameters.map(({ part }) => part),
      extent,
    )
    const properties = Object.fromEntries(
      parameters.map((parameter) => [parameter.name, adorned(writer.write(parameter.part), parameter, extent)]),
    )
    const $defs = writer.definitions()
    const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name)
    const choices = oneRequired.map((lists) => ({ anyOf: lists.map((names) => ({ required: names })) }))
    const schema = {
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      ...(choices.length === 1 ? choices[0] : choices.length > 1 && { allOf: choices }),
      ...(closed && { additionalProperties: false }),
      ...(Object.keys($defs).length > 0 && { $defs }),
    }
    guardSchema(schema)
    return { schema, notes: [...writer.lost].map((what) => `left out: ${what}`) }
  } catch (error) {
    if (error instanceof TooLarge || error instanceof RefusedSchemaError) return undefined
    throw error
  }
}

/** Adds what the document says about the parameter rather than about its schema. */
function adorned(schema: Record<string, unknown>, parameter: ToolParameter, extent: Extent): Record<string, unknown> {
  const { part, required, deprecated, example } = parameter
  const own = plainText(parameter.description, extent.description)
  const { type, $ref, description: _, ...rest } = schema
  const fallback = part.defaultText || (part.reference?.defaultText ?? '')
  const isSaid = /default/i.test(own) && own.includes(fallback.replace(/^Default: /, ''))
  const said = own === '' ? schema.description : sentences(own, isSaid ? '' : fallback)
  // Only what must be sent anyway may be filled in: another default would be sent with every call.
  const filled = required && isPlain(part.default)
  return {
    ...($ref !== undefined && { $ref }),
    ...(type !== undefined && { type }),
    ...(said !== undefined && said !== '' && { description: said }),
    ...rest,
    ...(filled && { default: part.default }),
    ...(isShortExample(example) && rest.examples === undefined && rest.enum === undefined && { examples: [example] }),
    ...(deprecated && { deprecated: true }),
  }
}

const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)
