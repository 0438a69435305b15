import { createRequire } from 'node:module'

/**
 * A schema of Zod that cannot describe itself, as JSON Schema. Such a schema comes with a LangChain tool, and so does
 * LangChain's converter.
 */
export const convertZod = (schema: object): unknown =>
  createRequire(import.meta.url)('@langchain/core/utils/json_schema').toJsonSchema(schema)
