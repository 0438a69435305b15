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
