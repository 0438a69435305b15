import { APPLICATORS, isObject, schemasUnder } from './schema-keywords.ts'
import { RefusedSchemaError, type SchemaReferences } from './schema-references.ts'

/** The schemas that apply to the same value and to its parts. */
export interface SchemaNode {
  /** May list a schema more than once. */
  readonly here: SchemaNode[]
  /** What its `$dynamicRef` may lead to. Which of them is known only during validation. */
  dynamic: readonly SchemaNode[]
  readonly named: Map<string, SchemaNode>
  readonly property: SchemaNode[]
  readonly item: SchemaNode[]
}

/** Builds the graph of a schema with its references. Calls `missing` for each unresolved one. */
export function schemaGraph(
  root: unknown,
  references: SchemaReferences,
  missing: (reference: string) => void,
): SchemaNode {
  const nodes = new Map<unknown, SchemaNode>()
  const open: [unknown, SchemaNode][] = []
  const dynamic: [SchemaNode, schema: unknown, reference: string][] = []

  function nodeOf(schema: unknown): SchemaNode {
    const found = nodes.get(schema)
    if (found !== undefined) return found
    const node: SchemaNode = { here: [], dynamic: [], named: new Map(), property: [], item: [] }
    if (isObject(schema)) {
      nodes.set(schema, node)
      open.push([schema, node])
    }
    return node
  }

  function read(schema: Record<string, unknown>, node: SchemaNode): void {
    for (const key of Object.keys(schema)) {
      const value = schema[key]
      if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string') {
        const target = references.target(schema, value)
        if (target === undefined) missing(value)
        else if (key === '$ref') node.here.push(nodeOf(target))
        else dynamic.push([node, schema, value])
      }
      const applicator = APPLICATORS.get(key)
      if (applicator === undefined || applicator.place === 'none') continue
      for (const [inner, name] of schemasUnder(applicator.shape, value)) {
        if (applicator.place === 'named') node.named.set(name, nodeOf(inner))
        else node[applicator.place].push(nodeOf(inner))
      }
    }
  }

  const start = nodeOf(root)
  for (;;) {
    const next = open.pop()
    if (next !== undefined) {
      read(next[0] as Record<string, unknown>, next[1])
      continue
    }
    // After everything else: resolving a reference may find more anchors.
    const late = dynamic.pop()
    if (late === undefined) return start
    const [node, schema, reference] = late
    node.dynamic = references.dynamicTargets(schema, reference).map(nodeOf)
  }
}

/** Above this many schemas, checking one value takes a child process longer than its deadline. */
const MAX_CHECKS = 100_000_000

/** Throws if the check of one value would never end, or takes too long: each call would fail after its deadline. */
export function refuseEndless(root: SchemaNode): void {
  const checks = new Map<SchemaNode, number>()
  const open = new Set<SchemaNode>()

  function checksOf(node: SchemaNode): number {
    const known = checks.get(node)
    if (known !== undefined) return known
    if (open.has(node)) throw new RefusedSchemaError('a $ref is circular: it leads back to itself on the same value')
    open.add(node)
    let total = 1
    for (const inner of node.here) total += checksOf(inner)
    let most = 0
    for (const inner of node.dynamic) most = Math.max(most, checksOf(inner))
    total += most
    open.delete(node)
    if (total > MAX_CHECKS) {
      const reason = `its references make more than ${MAX_CHECKS} checks of one value`
      throw new RefusedSchemaError(`is too expensive to check: ${reason}`)
    }
    checks.set(node, total)
    return total
  }

  const reached = new Set([root])
  for (const node of reached) {
    checksOf(node)
    for (const part of [node.here, node.dynamic, node.named.values(), node.property, node.item]) {
      for (const inner of part) reached.add(inner)
    }
  }
}

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
