import type { SchemaReferences } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { modern } from './canonical-schema.ts'
import { intersectSchemas } from './intersect-schemas.ts'

/** A schema without `$ref` and `allOf` of its own. */
export interface FoldedSchema {
  readonly schema: JsonSchema
  /** What the references led to. */
  readonly targets: readonly unknown[]
}

/**
 * Takes what `$ref`s and `allOf` say of a value into the schema itself, and makes `const` an `enum`; the schemas under
 * it stay as they are.
 */
export function foldSchema(
  raw: unknown,
  references: SchemaReferences,
  lost: (keyword: string) => void,
  targets: unknown[] = [],
): FoldedSchema {
  const { $ref, allOf, $defs, definitions, const: only, ...own } = modern(raw)
  let schema: JsonSchema = only === undefined ? own : { ...own, enum: [only] }
  const take = (part: unknown): void => {
    schema = intersectSchemas(schema, foldSchema(part, references, lost, targets).schema, lost)
  }
  if ($ref !== undefined) {
    const target = references.target(raw, $ref)
    if (target === undefined) lost('$ref')
    else if (!targets.includes(target)) {
      // A second time at the same place would say nothing new.
      targets.push(target)
      take(target)
    }
  }
  if (Array.isArray(allOf)) allOf.forEach(take)
  return { schema, targets }
}
