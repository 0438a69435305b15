import { sentences, shortened } from './plain-text.ts'
import type { SchemaPart, Step } from './schema-part.ts'

type Schema = Record<string, unknown>

/** A schema, and whether it allows exactly what the document allows; else it allows more. */
interface Written {
  readonly schema: Schema
  readonly exact: boolean
}

/** Where in a tool's parameters something is written. */
interface Place {
  /** How many levels of the value are above it. */
  readonly level: number
  /** How many schemas are around it. */
  readonly nested: number
  /** The schema that it was reached from without a reference. */
  readonly owner: SchemaPart
  /** Whether it judges the same value as its owner. */
  readonly here: boolean
}

/** How much of the document is written down. */
export interface Extent {
  /** Levels of the parameters; what is deeper is left open. */
  readonly deepest: number
  /** Characters of one description. */
  readonly description: number
}

const MAX_SCHEMAS = 4_000
const MAX_NESTED = 64
/** Where descriptions are shorter than this, there is no room for examples. */
const ROOM_FOR_EXAMPLES = 200

/** Writes the schemas of one tool: what several places share, or what holds itself, stands once, under `$defs`. */
export class SchemaWriter {
  readonly #extent: Extent
  readonly #survey: Survey
  readonly #names = new Map<SchemaPart, string>()
  readonly #open: SchemaPart[] = []
  readonly lost = new Set<string>()
  #schemas = 0
  #cut = false

  /** Throws `TooLarge`. */
  constructor(parts: readonly SchemaPart[], extent: Extent) {
    this.#extent = extent
    this.#survey = surveySchema(parts, extent.deepest)
  }

  /** Whether anything was too deep. */
  get cut(): boolean {
    return this.#cut
  }

  /** The schema of one parameter. Throws `TooLarge`. */
  write(part: SchemaPart): Schema {
    return this.#at(part, { level: 1, nested: 1, owner: part, here: true }).schema
  }

  /** What the schemas written so far refer to. Throws `TooLarge`. */
  definitions(): Schema {
    const definitions: Schema = {}
    for (let part = this.#open.shift(); part !== undefined; part = this.#open.shift()) {
      const level = this.#survey.levels.get(part) ?? 1
      definitions[this.#names.get(part) ?? ''] = this.#at(part, { level, nested: 1, owner: part, here: true }).schema
    }
    return definitions
  }

  #at(part: SchemaPart, place: Place): Written {
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

  /** What the schema says itself, without its description. */
  #own(part: SchemaPart, place: Place): Written {
    const { additionalProperties, examples, ...rules } = part.keywords
    const schema: Schema = { ...rules }
    let exact = true
    // Beside or inside an allOf, what one of them does not name the others may.
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

  /** What a reference leads to: a name where several places share it, else the schema itself. */
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
    const description = sentences(own || String(inner), part.defaultText)
    return {
      ...($ref !== undefined && { $ref }),
      ...(type !== undefined && { type }),
      ...(description !== '' && { description }),
      ...rest,
    }
  }

  /** What is left of a schema that is too deep: what kind of value it judges. */
  #stub(part: SchemaPart): Written {
    const { type } = { ...part.reference?.keywords, ...part.keywords }
    const schema = this.#described(type === undefined ? {} : { type }, part)
    const isWhole =
      part.reference === undefined &&
      part.steps.length === 0 &&
      Object.keys(part.keywords).every((keyword) => keyword === 'type')
    if (!isWhole) this.#cut = true
    return { schema, exact: isWhole && part.lost.size === 0 }
  }
}

const OPEN: Written = { schema: {}, exact: false }

const isHere = ({ deeper }: Step): boolean => !deeper

/** The schemas under one keyword, in a form that allows at least what the document allows. */
function joined(keyword: string, shape: Step['shape'], schemas: readonly Schema[], exact: boolean): Schema {
  // What allows more inside would allow less outside.
  if (!exact && (keyword === 'not' || keyword === 'if')) return {}
  if (shape === 'one') return { [keyword]: schemas[0] }
  if (keyword === 'prefixItems') return { prefixItems: schemas }
  if (keyword === 'allOf') {
    const rules = schemas.filter((schema) => !isOpen(schema))
    return rules.length > 0 ? { allOf: rules } : {}
  }
  if (schemas.some(isOpen)) return {}
  // Where one of them allows more than it should, two may fit, which oneOf would refuse.
  return { [exact ? keyword : 'anyOf']: schemas }
}

/** A reference together with what stands beside it. */
function beside(target: Written, own: Written): Written {
  if (Object.keys(own.schema).length === 0) return target
  if (isOpen(target.schema)) return { schema: own.schema, exact: false }
  const { allOf = [], ...rules } = own.schema as { readonly allOf?: readonly Schema[] }
  return { schema: { ...rules, allOf: [target.schema, ...allOf] }, exact: target.exact && own.exact }
}

/** An `allOf` of one with nothing beside it is that one. */
function alone(schema: Schema): Schema {
  const [only, ...others] = Array.isArray(schema.allOf) ? (schema.allOf as Schema[]) : []
  return only !== undefined && others.length === 0 && Object.keys(schema).length === 1 ? only : schema
}

function nullable({ description, ...schema }: Schema): Schema {
  return { ...(description !== undefined && { description }), anyOf: [schema, { type: 'null' }] }
}

/** Whether a schema allows everything. */
function isOpen(schema: Schema): boolean {
  return Object.keys(schema).every((keyword) => ['description', 'examples', 'deprecated'].includes(keyword))
}

/** What must be known of the schemas that others refer to before they are written. */
interface Survey {
  /** How often each is referred to. */
  readonly uses: ReadonlyMap<SchemaPart, number>
  /** How many levels below the parameters each is first met. */
  readonly levels: ReadonlyMap<SchemaPart, number>
  /** Those that are one of an `allOf`: whatever they forbid, the others may allow. */
  readonly composed: ReadonlySet<SchemaPart>
  /** Whether a reference in one schema leads back to it without going deeper into the value: no validator ends on that. */
  isCircle(from: SchemaPart, to: SchemaPart): boolean
}

interface Visit {
  readonly part: SchemaPart
  /** The schema that it was reached from by going deeper or staying, but by no reference. */
  readonly owner: SchemaPart
  /** Whether it judges the same value as its owner. */
  readonly here: boolean
  readonly composed: boolean
}

/** What a tool's schema can hold is less. */
const MAX_VISITS = 6_000

/** Walks everything that the parameters lead to, level by level, each referenced schema once. Throws `TooLarge`. */
function surveySchema(roots: readonly SchemaPart[], deepest: number): Survey {
  const uses = new Map<SchemaPart, number>()
  const levels = new Map<SchemaPart, number>()
  const composed = new Set<SchemaPart>()
  const edges = new Map<SchemaPart, Set<SchemaPart>>()
  let visits = 0
  let level: Visit[] = roots.map((part) => ({ part, owner: part, here: true, composed: false }))
  for (let depth = 1; depth <= deepest && level.length > 0; depth++) {
    const next: Visit[] = []
    for (const { part, owner, here, composed: inAllOf } of level) {
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

/** The edges that close a circle, so that without them there is none. */
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

/** A schema that has grown beyond what a tool may have: it must be cut. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge'
}
