import { foreignText } from '../core/json/json-depth.ts'
import { guardSchema } from '../core/schema/guard-schema.ts'
import { RefusedSchemaError } from '../core/schema/schema-references.ts'
import type { JsonSchema } from '../core/tool.ts'
import { Unmappable } from './documents.ts'
import { plainText, sentences, shortened } from './plain-text.ts'
import { isShortExample, type SchemaPart, type Step } from './schema-part.ts'

interface ToolParameter {
  readonly name: string
  readonly part: SchemaPart
  readonly required: boolean
  readonly description?: string
  readonly deprecated?: boolean
  readonly example?: unknown
}

export interface WholeRules {
  readonly closed?: boolean
  /** Lists of parameters; one list must be present completely. */
  readonly oneRequired?: readonly (readonly (readonly string[])[])[]
}

/** How many schemas may still be read and written for all operations of a document. */
export interface SchemaWork {
  left: number
}

/** Large APIs need about 270 for an operation. */
export const schemaWork = (operations: number): SchemaWork => ({ left: 500_000 + 500 * operations })

const MAX_PARAMETERS = 1_000
const MAX_DESCRIPTION = 500
const SHORT_DESCRIPTION = 120
/** Deeper schemas are refused anyway. */
const MAX_DEPTH = 30

/**
 * Builds the object schema of a tool's parameters. If it is too large, shortens descriptions, then leaves the deepest
 * levels open. Throws `Unmappable` if that doesn't help.
 */
export function assembleSchema(
  parameters: readonly ToolParameter[],
  rules: WholeRules,
  work: SchemaWork,
): { readonly schema: JsonSchema; readonly notes: readonly string[] } {
  const tooLarge = `its ${parameters.length} parameters are too large for one tool`
  if (parameters.length > MAX_PARAMETERS) throw new Unmappable(tooLarge)
  const attempt = (extent: Extent) => written(parameters, rules, extent, work)
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
  const what = deepest === 1 ? 'their content' : `everything deeper than ${below}`
  return withNote(best, `its parameters are too large for one tool: ${what} is left open`)
}

function withNote(assembled: NonNullable<ReturnType<typeof written>>, note: string) {
  return { ...assembled, notes: [note, ...assembled.notes] }
}

function written(
  parameters: readonly ToolParameter[],
  { closed, oneRequired = [] }: WholeRules,
  extent: Extent,
  work: SchemaWork,
): { readonly schema: JsonSchema; readonly notes: readonly string[] } | undefined {
  try {
    const writer = new SchemaWriter(
      parameters.map(({ part }) => part),
      extent,
      work,
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

/** Adds what the document says about the parameter itself. */
function adorned(schema: Record<string, unknown>, parameter: ToolParameter, extent: Extent): Record<string, unknown> {
  const { part, required, deprecated, example } = parameter
  const own = plainText(parameter.description, extent.description)
  const { type, $ref, description: _, ...rest } = schema
  const fallback = part.defaultText || (part.reference?.defaultText ?? '')
  const isSaid = /default/i.test(own) && own.includes(fallback.replace(/^Default: /, ''))
  const said = own === '' ? schema.description : sentences(own, isSaid ? '' : fallback)
  // Only defaults of required parameters: others would be sent with every call.
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

type Schema = Record<string, unknown>

/** A schema, and whether it is equivalent to the document's; otherwise it allows more. */
interface Written {
  readonly schema: Schema
  readonly exact: boolean
}

interface Place {
  readonly level: number
  readonly nested: number
  /** The schema that it was reached from without following a reference. */
  readonly owner: SchemaPart
  /** Whether it applies to the same value as its owner. */
  readonly here: boolean
}

interface Extent {
  /** Deeper levels are left open. */
  readonly deepest: number
  readonly description: number
}

const MAX_SCHEMAS = 4_000
const MAX_NESTED = 64
/** With shorter descriptions, examples are dropped too. */
const ROOM_FOR_EXAMPLES = 200

/** Writes the schemas of one tool. Shared and recursive schemas go to `$defs`. */
class SchemaWriter {
  readonly #extent: Extent
  readonly #work: SchemaWork
  readonly #survey: Survey
  readonly #names = new Map<SchemaPart, string>()
  readonly #open: SchemaPart[] = []
  readonly lost = new Set<string>()
  #schemas = 0

  constructor(parts: readonly SchemaPart[], extent: Extent, work: SchemaWork) {
    this.#extent = extent
    this.#work = work
    this.#survey = surveySchema(parts, extent.deepest, work)
  }

  write(part: SchemaPart): Schema {
    return this.#at(part, { level: 1, nested: 1, owner: part, here: true }).schema
  }

  /** The definitions that the written schemas refer to. */
  definitions(): Schema {
    const definitions: Schema = {}
    for (let part = this.#open.shift(); part !== undefined; part = this.#open.shift()) {
      const level = this.#survey.levels.get(part) ?? 1
      definitions[this.#names.get(part) ?? ''] = this.#at(part, { level, nested: 1, owner: part, here: true }).schema
    }
    return definitions
  }

  #at(part: SchemaPart, place: Place): Written {
    spend(this.#work)
    if (++this.#schemas > MAX_SCHEMAS || place.nested > MAX_NESTED) throw new TooLarge()
    if (place.level > this.#extent.deepest) return this.#stub(part)
    for (const what of part.lost) this.lost.add(what)
    const own = this.#own(part, place)
    const whole = part.reference === undefined ? own : beside(this.#referred(part, part.reference, place), own)
    const described = this.#described(alone(whole.schema), part)
    return {
      schema: part.isNullable && !isOpen(described) ? nullable(described) : described,
      exact: whole.exact && part.lost.size === 0,
    }
  }

  /** The schema without its reference and description. */
  #own(part: SchemaPart, place: Place): Written {
    const { additionalProperties, examples, ...rules } = part.keywords
    const schema: Schema = { ...rules }
    let exact = true
    // Within an `allOf`, other members may allow more properties.
    const composed = this.#survey.composed.has(part) || part.reference !== undefined || part.steps.some(isHere)
    if (additionalProperties === false && composed) exact = false
    else if (additionalProperties === false) schema.additionalProperties = false
    if (examples !== undefined && this.#extent.description > ROOM_FOR_EXAMPLES) schema.examples = examples
    for (const step of part.steps) {
      const leftOut = step.keyword === 'additionalProperties' && composed
      const written = leftOut ? OPEN : this.#step(step, place)
      if (!written.exact) exact = false
      Object.assign(schema, written.schema)
    }
    if (schema.if === undefined) {
      delete schema.then
      delete schema.else
    }
    return { schema, exact }
  }

  #step({ keyword, shape, deeper, children }: Step, { level, nested, owner, here }: Place): Written {
    const inner: Place = deeper
      ? { level: level + 1, nested: nested + 1, owner, here: false }
      : { level, nested: nested + 1, owner, here }
    const written = children.map(([name, child]) => [name, this.#at(child, inner)] as const)
    const exact = written.every(([, one]) => one.exact)
    if (shape === 'map') {
      const schemas = Object.fromEntries(written.map(([name, { schema }]) => [name, schema]))
      return { schema: { [keyword]: schemas }, exact }
    }
    const schemas = written.map(([, { schema }]) => schema)
    return { schema: joined(keyword, shape, schemas, exact), exact }
  }

  /** Writes a reference to `$defs` if it is shared, else the schema itself. */
  #referred(part: SchemaPart, target: SchemaPart, { level, nested, owner, here }: Place): Written {
    if (here && this.#survey.isCircle(owner, target)) return OPEN
    if ((this.#survey.uses.get(target) ?? 0) < 2 || target.isSmall) {
      return this.#at(target, { level, nested: nested + 1, owner: target, here: true })
    }
    return { schema: { $ref: `#/$defs/${this.#nameOf(target, part.referenceName)}` }, exact: false }
  }

  #nameOf(target: SchemaPart, wanted: string): string {
    const known = this.#names.get(target)
    if (known !== undefined) return known
    const plain = wanted.replace(/[^\w.-]+|^_+/g, '').slice(0, 60) || 'schema'
    const taken = new Set(this.#names.values())
    let name = plain
    for (let number = 2; taken.has(name); number++) name = `${plain}_${number}`
    this.#names.set(target, name)
    this.#open.push(target)
    return name
  }

  #described(schema: Schema, part: SchemaPart): Schema {
    const { $ref, type, description: inner = '', ...rest } = schema
    const own = shortened(part.description, this.#extent.description)
    const description = sentences(own || foreignText(inner), part.defaultText)
    return {
      ...($ref !== undefined && { $ref }),
      ...(type !== undefined && { type }),
      ...(description !== '' && { description }),
      ...rest,
    }
  }

  /** Keeps only the type of a schema that is too deep. */
  #stub(part: SchemaPart): Written {
    const { type } = { ...part.reference?.keywords, ...part.keywords }
    const schema = this.#described(type === undefined ? {} : { type }, part)
    const isWhole =
      part.reference === undefined &&
      part.steps.length === 0 &&
      Object.keys(part.keywords).every((keyword) => keyword === 'type')
    return { schema, exact: isWhole && part.lost.size === 0 }
  }
}

const OPEN: Written = { schema: {}, exact: false }

const isHere = ({ deeper }: Step): boolean => !deeper

/** Combines subschemas so that at least what the document allows is allowed. */
function joined(keyword: string, shape: Step['shape'], schemas: readonly Schema[], exact: boolean): Schema {
  // Inverted: a wider subschema would make the whole narrower.
  if (!exact && (keyword === 'not' || keyword === 'if')) return {}
  if (shape === 'one') return { [keyword]: schemas[0] }
  if (keyword === 'prefixItems') return { prefixItems: schemas }
  if (keyword === 'allOf') {
    const rules = schemas.filter((schema) => !isOpen(schema))
    return rules.length > 0 ? { allOf: rules } : {}
  }
  if (schemas.some(isOpen)) return {}
  // With wider subschemas, two could match, which `oneOf` rejects.
  return { [exact ? keyword : 'anyOf']: schemas }
}

/** Combines a reference with its sibling keywords. */
function beside(target: Written, own: Written): Written {
  if (Object.keys(own.schema).length === 0) return target
  if (isOpen(target.schema)) return { schema: own.schema, exact: false }
  const { allOf = [], ...rules } = own.schema as { readonly allOf?: readonly Schema[] }
  return { schema: { ...rules, allOf: [target.schema, ...allOf] }, exact: target.exact && own.exact }
}

/** Unwraps an `allOf` with one member. */
function alone(schema: Schema): Schema {
  const [only, ...others] = Array.isArray(schema.allOf) ? (schema.allOf as Schema[]) : []
  return only !== undefined && others.length === 0 && Object.keys(schema).length === 1 ? only : schema
}

function nullable({ description, ...schema }: Schema): Schema {
  return { ...(description !== undefined && { description }), anyOf: [schema, { type: 'null' }] }
}

function isOpen(schema: Schema): boolean {
  return Object.keys(schema).every((keyword) => ['description', 'examples', 'deprecated'].includes(keyword))
}

/** Facts about referenced schemas. */
interface Survey {
  readonly uses: ReadonlyMap<SchemaPart, number>
  /** The level at which each is first found. */
  readonly levels: ReadonlyMap<SchemaPart, number>
  /** Members of an `allOf`, whose siblings may allow more. */
  readonly composed: ReadonlySet<SchemaPart>
  /** Whether a reference leads back to the schema without descending into the value: validators would never finish. */
  isCircle(from: SchemaPart, to: SchemaPart): boolean
}

function spend(work: SchemaWork): void {
  if (work.left-- <= 0) throw new Unmappable('the operations before it have too many schemas: import it with include')
}

interface Visit {
  readonly part: SchemaPart
  readonly owner: SchemaPart
  readonly here: boolean
  readonly composed: boolean
}

const MAX_VISITS = 6_000

/** Visits all reachable schemas level by level, each referenced one once. Throws `TooLarge`. */
function surveySchema(roots: readonly SchemaPart[], deepest: number, work: SchemaWork): Survey {
  const uses = new Map<SchemaPart, number>()
  const levels = new Map<SchemaPart, number>()
  const composed = new Set<SchemaPart>()
  const edges = new Map<SchemaPart, Set<SchemaPart>>()
  let visits = 0
  let level: Visit[] = roots.map((part) => ({ part, owner: part, here: true, composed: false }))
  for (let depth = 1; depth <= deepest && level.length > 0; depth++) {
    const next: Visit[] = []
    for (const { part, owner, here, composed: inAllOf } of level) {
      spend(work)
      if (++visits > MAX_VISITS) throw new TooLarge()
      if (inAllOf) composed.add(part)
      const target = part.reference
      if (target !== undefined) {
        uses.set(target, (uses.get(target) ?? 0) + 1)
        if (inAllOf) composed.add(target)
        if (here) edges.set(owner, (edges.get(owner) ?? new Set()).add(target))
        if (!levels.has(target)) {
          levels.set(target, depth)
          level.push({ part: target, owner: target, here: true, composed: false })
        }
      }
      for (const { keyword, deeper, children } of part.steps) {
        for (const [, child] of children) {
          if (!deeper) level.push({ part: child, owner, here, composed: keyword === 'allOf' })
          else if (depth < deepest) next.push({ part: child, owner, here: false, composed: false })
        }
      }
    }
    level = next
  }
  const circles = circlesIn([...roots, ...levels.keys()], edges)
  return { uses, levels, composed, isCircle: (from, to) => circles.get(from)?.has(to) === true }
}

type Edges = ReadonlyMap<SchemaPart, ReadonlySet<SchemaPart>>

/** Finds the edges to remove so that no cycle remains. */
function circlesIn(nodes: readonly SchemaPart[], edges: Edges): Map<SchemaPart, Set<SchemaPart>> {
  const circles = new Map<SchemaPart, Set<SchemaPart>>()
  const done = new Set<SchemaPart>()
  const open = new Set<SchemaPart>()
  const trail: { readonly node: SchemaPart; readonly targets: Iterator<SchemaPart> }[] = []
  const enter = (node: SchemaPart): void => {
    open.add(node)
    trail.push({ node, targets: (edges.get(node) ?? new Set<SchemaPart>()).values() })
  }
  for (const start of nodes) {
    if (!done.has(start)) enter(start)
    for (let at = trail.at(-1); at !== undefined; at = trail.at(-1)) {
      const { done: ended, value: target } = at.targets.next()
      if (ended) {
        open.delete(at.node)
        done.add(at.node)
        trail.pop()
      } else if (open.has(target)) circles.set(at.node, (circles.get(at.node) ?? new Set()).add(target))
      else if (!done.has(target)) enter(target)
    }
  }
  return circles
}

class TooLarge extends Error {
  override readonly name = 'TooLarge'
}
