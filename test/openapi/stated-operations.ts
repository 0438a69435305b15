import { at, branchAt, type DocumentTree, isBranch, type Tree } from './document-tree.ts'

/** An operation as the document has it. */
export interface StatedOperation {
  /** In capitals. */
  readonly method: string
  readonly path: string
  /** `GET /users/{id}`. */
  readonly label: string
  readonly operation: Tree
  readonly pathItem: Tree
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query']

/** Every operation that a document names under its paths, read or not. */
export function statedOperations(tree: DocumentTree): StatedOperation[] {
  return Object.entries(branchAt(tree.root, 'paths')).flatMap(([path, written]) => {
    if (path.startsWith('x-')) return []
    const target = tree.resolve(written)
    const pathItem = isBranch(written) && isBranch(target) ? { ...target, ...written } : target
    const usual = METHODS.map((method) => [method.toUpperCase(), at(pathItem, method)] as const)
    const others = Object.entries(branchAt(pathItem, 'additionalOperations'))
    return [...usual, ...others]
      .filter(([, operation]) => operation !== undefined)
      .map(([method, operation]) => ({
        method,
        path,
        label: `${method} ${path}`,
        operation: tree.resolve(operation),
        pathItem,
      }))
  })
}
