import type { KnowledgeQuery } from '../../core/storage/knowledge-store.ts'
import { checkMetadata } from './check-metadata.ts'
import { checkCount } from './check-text.ts'
import { KNOWLEDGE_BOUNDS as MOST } from './knowledge-bounds.ts'

/** How much is looked for, and of what; a filter without keys is none. */
export function checkQuery({ most, filter }: KnowledgeQuery): {
  readonly most: number
  readonly filter: Readonly<Record<string, string>> | undefined
} {
  const checked = filter && checkMetadata('filter', filter)
  return {
    most: checkCount('`most`', most, 1, MOST.hits),
    filter: checked && Object.keys(checked).length > 0 ? checked : undefined,
  }
}
