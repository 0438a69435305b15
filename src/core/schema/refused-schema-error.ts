/** The code that tells a refused schema where it was judged in another process. */
export const REFUSED = 'REFUSED_SCHEMA'

/** A schema that must not be used; the message says why, as the end of a sentence about the schema. */
export class RefusedSchemaError extends Error {
  override readonly name = 'RefusedSchemaError'
  readonly code = REFUSED
}
