import type { ContractCase } from '../../src/testing/kind-contract.ts'
import { collectionClauses } from './knowledge/collection-clauses.ts'
import { documentClauses } from './knowledge/document-clauses.ts'
import { knownVectorClauses } from './knowledge/known-vector-clauses.ts'
import { manyVectorClauses } from './knowledge/many-vector-clauses.ts'
import { noVectorClauses } from './knowledge/no-vector-clauses.ts'
import { partClauses } from './knowledge/part-clauses.ts'
import { tenantClauses } from './knowledge/tenant-clauses.ts'
import { textClauses } from './knowledge/text-clauses.ts'
import { vectorClauses } from './knowledge/vector-clauses.ts'
import type { KnowledgeClauses, OpenKnowledge } from './storage/contract-store.ts'
import { ContractStore } from './storage/contract-store.ts'

/** What every store of knowledge must keep to, whatever engine is behind it. Each clause has a store of its own. */
export function knowledgeContract({
  open,
  vectors,
}: {
  readonly open: OpenKnowledge
  /** Whether it keeps vectors. */
  readonly vectors: boolean
}): ContractCase[] {
  const clauses: KnowledgeClauses = {
    ...collectionClauses,
    ...documentClauses,
    ...partClauses,
    ...textClauses,
    ...knownVectorClauses,
    ...tenantClauses,
    ...(vectors ? { ...vectorClauses, ...manyVectorClauses } : noVectorClauses),
  }
  return Object.entries(clauses).map(([name, clause]) => ({
    name,
    async run() {
      const store = new ContractStore(open)
      try {
        await clause(store)
      } finally {
        await store.close()
      }
    },
  }))
}
