import type { SchemaNode } from './schema-graph.ts'
import { RefusedSchemaError } from './schema-references.ts'

/** Schemas, each with how often it judges one value. */
type Visits = Map<SchemaNode, number>

/** Parameters are at most this deep, so that no recursion is longer. */
const DEPTH = 64

/** The estimate itself is bounded: what is not counted within so many steps is taken for boundless. */
const MAX_STEPS = 50_000

const BOUNDLESS = { cost: Number.POSITIVE_INFINITY, height: DEPTH }

/** What a schema asks of a validator, at worst over all parameters. */
export interface SchemaCost {
  /** How many schemas may judge one and the same value. */
  readonly cost: number
  /** How many levels of a value are judged. */
  readonly height: number
}

/**
 * How many schemas may judge one and the same value, at worst over all parameters. References make a graph; the visits
 * at a value are the paths that lead to it. They grow without bound only where a schema that can come back to itself
 * sends one property, or one item, along two such ways: then the answer is Infinity. Throws where a reference comes
 * back to itself without going deeper into the value: no validator ends on that.
 */
export function schemaCost(root: SchemaNode): SchemaCost {
  const walk = new CostWalk()
  const cost = walk.of(root)
  return walk.steps > MAX_STEPS ? BOUNDLESS : cost
}

class CostWalk {
  steps = 0
  readonly #here = new Map<SchemaNode, Visits>()
  readonly #below = new Map<SchemaNode, Visits[]>()
  readonly #costs = new Map<SchemaNode, SchemaCost>()

  of(root: SchemaNode): SchemaCost {
    const open = new Set([root])
    for (const node of open) for (const visits of this.#partsOf(node)) for (const [target] of visits) open.add(target)
    if (this.steps > MAX_STEPS) return BOUNDLESS
    const components = schemaComponents(root, (node) => this.#partsOf(node).flatMap((visits) => [...visits.keys()]))
    return this.#cost(root, components)
  }

  #cost(state: SchemaNode, components: Map<SchemaNode, Set<SchemaNode>>): SchemaCost {
    const known = this.#costs.get(state)
    if (known !== undefined) return known
    const circle = components.get(state) ?? new Set([state])
    const recursive = circle.size > 1 || this.#partsOf(state).some((visits) => visits.has(state))
    let own = 0
    let beside = 0
    let height = recursive ? DEPTH : 0
    let boundless = false
    for (const member of circle) {
      own = Math.max(own, this.#total(member))
      for (const visits of this.#partsOf(member)) {
        let inside = 0
        let outside = 0
        for (const [target, times] of visits) {
          this.steps++
          if (recursive && circle.has(target)) {
            inside += times
            continue
          }
          const below = this.#cost(target, components)
          height = Math.max(height, Math.min(DEPTH, below.height + 1))
          // A recursion starts one of these at each of its levels, and each lives for as long as it is high.
          outside += times * below.cost * (recursive ? Math.min(DEPTH, below.height + 1) : 1)
        }
        if (inside > 1) boundless = true
        beside = Math.max(beside, outside)
      }
    }
    const finite = recursive ? own + beside : Math.max(own, beside)
    const cost = boundless ? Number.POSITIVE_INFINITY : finite
    const result = { cost, height }
    for (const member of circle) this.#costs.set(member, result)
    return result
  }

  #total(state: SchemaNode): number {
    let total = 0
    for (const times of this.#hereOf(state, new Set()).values()) total += times
    return total
  }

  /** The schemas that judge the parts of a value: one list for each property name, for other names, for items. */
  #partsOf(state: SchemaNode): Visits[] {
    const known = this.#below.get(state)
    if (known !== undefined || this.steps > MAX_STEPS) return known ?? []
    const named = new Map<string, Visits>()
    const property: Visits = new Map()
    const item: Visits = new Map()
    for (const [node, times] of this.#hereOf(state, new Set())) {
      for (const target of node.property) this.#add(property, target, times)
      for (const target of node.item) this.#add(item, target, times)
      for (const [name, target] of node.named) {
        const visits = named.get(name) ?? new Map()
        named.set(name, visits)
        this.#add(visits, target, times)
      }
    }
    for (const visits of named.values()) for (const [target, times] of property) this.#add(visits, target, times)
    const parts = [...named.values(), property, item].filter((visits) => visits.size > 0)
    this.#below.set(state, parts)
    return parts
  }

  /** The schemas that judge the same value as this one, itself included. */
  #hereOf(node: SchemaNode, open: Set<SchemaNode>): Visits {
    const known = this.#here.get(node)
    if (known !== undefined) return known
    if (open.has(node)) throw new RefusedSchemaError('a $ref leads back to itself without going deeper into the value')
    open.add(node)
    const visits: Visits = new Map([[node, 1]])
    for (const inner of node.here) {
      const below = this.#hereOf(inner, open)
      if (this.steps > MAX_STEPS) continue
      for (const [target, times] of below) this.#add(visits, target, times)
    }
    open.delete(node)
    this.#here.set(node, visits)
    return visits
  }

  #add(visits: Visits, target: SchemaNode, times: number): void {
    this.steps++
    visits.set(target, (visits.get(target) ?? 0) + times)
  }
}

/** For each schema the set of those that it can come back to itself through, itself included (Tarjan's algorithm). */
function schemaComponents(
  root: SchemaNode,
  next: (node: SchemaNode) => readonly SchemaNode[],
): Map<SchemaNode, Set<SchemaNode>> {
  const result = new Map<SchemaNode, Set<SchemaNode>>()
  const order = new Map<SchemaNode, number>()
  const stack: SchemaNode[] = []

  function visit(node: SchemaNode): number {
    const own = order.size
    order.set(node, own)
    stack.push(node)
    let lowest = own
    for (const target of next(node)) {
      const reached = order.get(target)
      if (reached === undefined) lowest = Math.min(lowest, visit(target))
      else if (!result.has(target)) lowest = Math.min(lowest, reached)
    }
    if (lowest === own) {
      const members = new Set(stack.splice(stack.lastIndexOf(node)))
      for (const member of members) result.set(member, members)
    }
    return lowest
  }

  visit(root)
  return result
}
