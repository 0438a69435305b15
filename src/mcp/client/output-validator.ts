import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from '@modelcontextprotocol/client'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import type { JsonSchema } from '../../core/tool.ts'

/**
 * Holds structured results against the schema that a server declares. The SDK's own validator can be hung or crashed by a
 * hostile one; ours is guarded. A schema that is refused, or that only the exact validator could judge, is not held.
 */
export const outputValidator: jsonSchemaValidator = {
  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    const compiled = compile(schema as JsonSchema)
    return (input) => {
      if (compiled?.check === undefined || compiled.check(input)) {
        return { valid: true, data: input as T, errorMessage: undefined }
      }
      const problems = compiled.explain(input).map(({ message }) => message)
      return { valid: false, data: undefined, errorMessage: problems.join(', ') }
    }
  },
}

function compile(schema: JsonSchema) {
  try {
    return compileSchema(schema)
  } catch {
    return undefined
  }
}
