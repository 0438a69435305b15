import type { CanonicalSchema } from './canonical-schema.ts'
import type { DialectSchema } from './dialect-schema.ts'
import type { Losses } from './losses.ts'
import { OLLAMA_RULES } from './ollama-rules.ts'
import { rootObject } from './root-object.ts'
import { SubsetWriter } from './subset-writer.ts'

/** Ollama: the few fields that it hands on to a model's template. */
export function ollamaDialect(canonical: CanonicalSchema, losses: Losses): DialectSchema {
  const { schema: root, words } = rootObject(canonical, losses)
  const { description, ...schema } = new SubsetWriter(canonical.references, OLLAMA_RULES, losses).root(root)
  // The root has no description there, but the tool has one.
  const said = typeof description === 'string' ? [...words, description] : words
  return { schema: { type: 'object', properties: {}, ...schema }, words: said }
}
