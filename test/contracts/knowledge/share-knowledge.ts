import type { KnowledgeStore } from '../../../src/core/storage/knowledge-store.ts'
import type { OpenKnowledge } from '../storage/contract-store.ts'

/** The tenants that clauses write for. */
const TENANTS = ['acme', 'other']

/**
 * For stores that take long to open: all clauses get the same, by turns one way in and the other, and leave it without
 * collections.
 */
export function shareKnowledge(waysIn: () => readonly KnowledgeStore[]): OpenKnowledge {
  let opened = 0
  return async () => {
    const ways = waysIn()
    const knowledge = ways[opened++ % ways.length] as KnowledgeStore
    return {
      knowledge,
      async close() {
        for (const tenant of TENANTS) {
          for (const { name } of await knowledge.collections(tenant)) await knowledge.drop(tenant, name)
        }
      },
    }
  }
}
