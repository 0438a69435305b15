import { typesOf } from './intersect-schemas.ts'
import type { SubsetRules } from './subset-writer.ts'

/** What Ollama reads of a parameter; it ignores the rest without a word. */
export const OLLAMA_RULES: SubsetRules = {
  keywords: new Set(['anyOf', 'description', 'enum', 'items', 'properties', 'required', 'type']),

  shape({ schema, drop, weaken }) {
    if (Array.isArray(schema.enum) && schema.enum.length === 0) drop('enum')
    const { prefixItems } = schema
    if (Array.isArray(prefixItems)) {
      const rest = schema.items === undefined || typeof schema.items === 'boolean' ? [] : [schema.items]
      const kinds = new Map([...prefixItems, ...rest].map((item) => [JSON.stringify(item), item]))
      schema.items = kinds.size === 1 ? prefixItems[0] : { anyOf: [...kinds.values()] }
      delete schema.prefixItems
      weaken('prefixItems', 'items')
    }
    if (typeof schema.items === 'boolean') delete schema.items
    return undefined
  },

  nullable(schema) {
    const types = typesOf(schema)
    if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] }
    if (types.length === 0 || types.includes('null')) return schema
    const type = [...types, 'null']
    return Array.isArray(schema.enum) ? { ...schema, type, enum: [...schema.enum, null] } : { ...schema, type }
  },
}
