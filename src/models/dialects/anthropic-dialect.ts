import type { CanonicalSchema } from './canonical-schema.ts'
import type { DialectSchema } from './dialect-schema.ts'
import { FullWriter } from './full-writer.ts'
import type { Losses } from './losses.ts'
import { fitParameterNames } from './parameter-names.ts'
import { rootObject } from './root-object.ts'

/** Anthropic looks at the names of the parameters only, not of what is inside them. */
const PARAMETER_NAME = /^[a-zA-Z0-9_.-]{1,64}$/

/** Anthropic: JSON Schema 2020-12 with an object at the root. */
export function anthropicDialect(canonical: CanonicalSchema, losses: Losses): DialectSchema {
  const { schema: root, words } = rootObject(canonical, losses)
  const writer = new FullWriter(canonical.references, { refuses: () => false, itemsRequired: false }, losses)
  return { schema: writer.root(fitParameterNames(root, PARAMETER_NAME, losses)), words }
}
