import type { SchemaNode } from './schema-graph.ts'

/** How often each schema checks one value. */
type Visits = Map<SchemaNode, number>

/** The maximum depth of parameters, and so of recursion. */
const DEPTH = 64

/** Above this many steps the cost counts as unbounded. */
const MAX_STEPS = 50_000

const BOUNDLESS = { cost: Number.POSITIVE_INFINITY, height: DEPTH }

export interface SchemaCost {
  /** The maximum number of schemas that check one value. */
  readonly cost: number
  /** The depth of values that are checked. */
  readonly height: number
}

/**
 * The maximum number of schemas that check one value. References make a graph, and the checks of a value are the paths
 * to it. The number is unbounded if a recursive schema reaches itself twice through one property or item.
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
          // Each level of a recursion starts these again.
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
    for (const times of this.#hereOf(state).values()) total += times
    return total
  }

  /** One list per property name, one for other names, one for items. */
  #partsOf(state: SchemaNode): Visits[] {
    const known = this.#below.get(state)
    if (known !== undefined || this.steps > MAX_STEPS) return known ?? []
    const named = new Map<string, Visits>()
    const property: Visits = new Map()
    const item: Visits = new Map()
    for (const [node, times] of this.#hereOf(state)) {
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

  #hereOf(node: SchemaNode): Visits {
    const known = this.#here.get(node)
    if (known !== undefined) return known
    const visits: Visits = new Map([[node, 1]])
    for (const inner of node.here) {
      const below = this.#hereOf(inner)
      if (this.steps > MAX_STEPS) continue
      for (const [target, times] of below) this.#add(visits, target, times)
    }
    this.#here.set(node, visits)
    return visits
  }

  #add(visits: Visits, target: SchemaNode, times: number): void {
    this.steps++
    visits.set(target, (visits.get(target) ?? 0) + times)
  }
}

/** The strongly connected components of the graph (Tarjan's algorithm). */
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
