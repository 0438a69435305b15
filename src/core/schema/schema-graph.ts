import { APPLICATORS, isObject, schemasUnder } from './schema-keywords.ts'
import type { SchemaReferences } from './schema-references.ts'

/** The schemas that apply to the same value and to its parts. */
export interface SchemaNode {
  /** May list a schema more than once. */
  readonly here: SchemaNode[]
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
        // The target of a dynamic reference is known only during validation.
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
