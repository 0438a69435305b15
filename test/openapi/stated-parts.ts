import { branchAt, type DocumentTree, listAt, type Tree, textAt } from './document-tree.ts'
import type { StatedOperation } from './stated-operations.ts'

/** The parameters of an operation and, where it does not say otherwise, those of its path. */
export function mergedParameters({ operation, pathItem }: StatedOperation, tree: DocumentTree): Tree[] {
  const merged = new Map<string, Tree>()
  for (const holder of [pathItem, operation]) {
    for (const written of listAt(holder, 'parameters')) {
      const one = tree.resolve(written)
      const [place = '', name = ''] = [textAt(one, 'in'), textAt(one, 'name')]
      merged.set(JSON.stringify([place, place === 'header' ? name.toLowerCase() : name]), one)
    }
  }
  return [...merged.values()]
}

/** The answers that are good news. */
export function successes(operation: Tree): Tree[] {
  const responses = Object.entries(branchAt(operation, 'responses'))
  const good = responses.filter(([status]) => /^2/.test(status))
  return (good.length > 0 ? good : responses.filter(([status]) => status === 'default')).map(([, response]) => response)
}

export function goodStatus(operation: Tree): number {
  const named = Object.keys(branchAt(operation, 'responses')).find((status) => /^2\d\d$/.test(status))
  return named === undefined ? 200 : Number(named)
}
