import { at, type DocumentTree } from './document-tree.ts'
import { statedByOpenapi } from './stated-by-openapi.ts'
import { statedBySwagger } from './stated-by-swagger.ts'
import type { StatedOperation } from './stated-operations.ts'
import type { StatedRequest } from './stated-request.ts'

/** What a document states of an operation, whatever its version. */
export function readStatedRequest(operation: StatedOperation, tree: DocumentTree): StatedRequest {
  return at(tree.root, 'swagger') === undefined ? statedByOpenapi(operation, tree) : statedBySwagger(operation, tree)
}
