/** A schema that must not be used; the message says why, as the end of a sentence about the schema. */
export class RefusedSchemaError extends Error {
  override readonly name = 'RefusedSchemaError'
}
