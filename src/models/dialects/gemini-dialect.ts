import type { CanonicalSchema } from './canonical-schema.ts'
import type { DialectSchema } from './dialect-schema.ts'
import { GEMINI_RULES } from './gemini-rules.ts'
import type { Losses } from './losses.ts'
import { fitParameterNames } from './parameter-names.ts'
import { rootObject } from './root-object.ts'
import { SubsetWriter } from './subset-writer.ts'

const PARAMETER_NAME = /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/

/** Gemini: the part of JSON Schema that it documents. */
export function geminiDialect(canonical: CanonicalSchema, losses: Losses): DialectSchema {
  const { schema: root, words } = rootObject(canonical, losses)
  const fit = fitParameterNames(root, PARAMETER_NAME, losses)
  return {
    schema: {
      type: 'object',
      properties: {},
      ...new SubsetWriter(canonical.references, GEMINI_RULES, losses).root(fit),
    },
    words,
  }
}
