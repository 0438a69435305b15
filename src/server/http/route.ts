import type { FastifySchema } from 'fastify'
import { ID_IN_PATH, type NeededScope, object, TEXT } from '../../operations/operation.ts'

export {
  COUNT,
  exactly,
  list,
  type NeededScope,
  object,
  TEXT,
  TIME,
  TIME_OR_NULL,
} from '../../operations/operation.ts'

/** The options of a route: the scope that a caller needs (null: none) and the entry in the API reference. */
export const route = (scope: NeededScope | null, tag: string, summary: string, schema: FastifySchema = {}) => ({
  config: { scope },
  schema: { summary, tags: [tag], ...schema },
})

/** A parameter in the path. */
export const pathParameter = (name: string, maxLength: number) => object({ [name]: { ...TEXT, maxLength } })

/** The id of a job in the path. */
export const JOB_ID = object({ id: ID_IN_PATH })

/** A `Prefer` header that asks for an answer before the work is done. */
export const RESPOND_ASYNC = /(?:^|,)\s*respond-async\s*(?:[;,]|$)/i
