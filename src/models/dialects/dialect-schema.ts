import type { JsonSchema } from '../../core/tool.ts'
import type { CanonicalSchema } from './canonical-schema.ts'
import type { Losses } from './losses.ts'

/** A schema as one provider takes it. */
export interface DialectSchema {
  readonly schema: JsonSchema
  /** What the tool's description says instead. */
  readonly words: readonly string[]
  /** Whether the provider can hold a model to it; undefined where it has no such thing. */
  readonly strict?: boolean
}

/** Writes a schema for one provider. Throws a `RefusedSchemaError` where it cannot take the tool. */
export type DialectWriter = (canonical: CanonicalSchema, losses: Losses) => DialectSchema
