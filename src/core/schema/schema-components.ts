import type { SchemaNode } from './schema-graph.ts'

/** For each schema the set of those that it can come back to itself through, itself included (Tarjan's algorithm). */
export function schemaComponents(
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
