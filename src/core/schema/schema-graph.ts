import { APPLICATORS, isObject, schemasUnder } from './schema-keywords.ts'
import type { SchemaReferences } from './schema-references.ts'

/** One schema as validation sees it: where it sends the value it judges, and the parts of that value. */
export interface SchemaNode {
  /** Judged on the same value, each time it is listed. */
  readonly here: SchemaNode[]
  readonly named: Map<string, SchemaNode>
  /** Judged on every property that may have any name. */
  readonly property: SchemaNode[]
  /** Judged on every item. */
  readonly item: SchemaNode[]
}

/** The graph that references make of a schema; `missing` is told of each reference that leads nowhere. */
export function schemaGraph(
  root: unknown,
  references: SchemaReferences,
  missing: (reference: string) => void,
): SchemaNode {
  const nodes = new Map<unknown, SchemaNode>()
  const open: [unknown, SchemaNode][] = []

  function nodeOf(schema: unknown): SchemaNode {
    const found = nodes.get(schema)
    if (found !== undefined) return found
    const node: SchemaNode = { here: [], named: new Map(), property: [], item: [] }
    if (isObject(schema)) {
      nodes.set(schema, node)
      open.push([schema, node])
    }
    return node
  }

  const start = nodeOf(root)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [schema, node] = next as [Record<string, unknown>, SchemaNode]
    for (const key of Object.keys(schema)) {
      const value = schema[key]
      if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string') {
        const target = references.target(schema, value)
        if (target === undefined) missing(value)
        else if (key === '$ref') node.here.push(nodeOf(target))
        // Where a dynamic reference leads is known only while judging.
        else nodeOf(target)
      }
      const applicator = APPLICATORS.get(key)
      if (applicator === undefined || applicator.place === 'none') continue
      for (const [inner, name] of schemasUnder(applicator.shape, value)) {
        if (applicator.place === 'named') node.named.set(name, nodeOf(inner))
        else node[applicator.place].push(nodeOf(inner))
      }
    }
  }
  return start
}
