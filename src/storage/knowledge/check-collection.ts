import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { checkCount, checkName } from './check-text.ts'
import { KNOWLEDGE_BOUNDS as MOST } from './knowledge-bounds.ts'

/** What a collection is opened with. */
export function checkCollection(...[tenant, name, embedder]: Parameters<KnowledgeStore['open']>): {
  readonly tenant: string
  readonly name: string
  readonly embedder: string | null
  readonly dimensions: number | null
} {
  return {
    tenant: checkName('The tenant', tenant, MOST.tenant),
    name: checkName('The name of a collection', name, MOST.collection),
    embedder: embedder && checkName('The embedder', embedder.id, MOST.embedder),
    dimensions: embedder && checkCount('The dimensions of an embedder', embedder.dimensions, 1, MOST.dimensions),
  }
}
