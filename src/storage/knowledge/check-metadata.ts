import { checkName, checkText } from './check-text.ts'
import { KNOWLEDGE_BOUNDS as MOST } from './knowledge-bounds.ts'
import { refused } from './refused.ts'

/** The metadata of a document, or a filter for it, by key. */
export function checkMetadata(what: string, metadata: unknown): Record<string, string> {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
    throw refused(`${what} must be an object of texts`)
  }
  const entries = Object.entries(metadata)
  if (entries.length > MOST.metadataKeys) {
    throw refused(`${what} has ${entries.length} keys: the store takes ${MOST.metadataKeys}`)
  }
  const checked = entries.map(([key, value]) => {
    const name = checkName(`A key of the ${what}`, key, MOST.metadataKey)
    return [name, checkText(`'${name}' of the ${what}`, value, MOST.metadataValue)] as const
  })
  // The order in which keys come is no difference.
  return Object.fromEntries(checked.sort(([a], [b]) => (a < b ? -1 : 1)))
}
