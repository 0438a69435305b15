import type { FastifySchema } from 'fastify'
import type { Scope } from '../../app/callers/callers.ts'

/** The scope that a caller needs, or several of which it needs one. */
export type NeededScope = Scope | readonly Scope[]

/** The options of a route: the scope that a caller needs (null: none) and the entry in the API reference. */
export const route = (scope: NeededScope | null, tag: string, summary: string, schema: FastifySchema = {}) => ({
  config: { scope },
  schema: { summary, tags: [tag], ...schema },
})

export const TEXT = { type: 'string' }
export const COUNT = { type: 'integer' }
export const TIME = { type: 'string', format: 'date-time' }
export const TIME_OR_NULL = { type: ['string', 'null'], format: 'date-time' }

export const object = (properties: object, description?: string) => ({
  type: 'object',
  properties,
  ...(description !== undefined && { description }),
})

export const list = (properties: object, description?: string) => ({
  type: 'array',
  items: object(properties),
  ...(description !== undefined && { description }),
})

/** A query string or a body in which other properties are errors. */
export const exactly = (properties: object) => ({ ...object(properties), additionalProperties: false })

/** A parameter in the path. */
export const pathParameter = (name: string, maxLength: number) => object({ [name]: { ...TEXT, maxLength } })

/** The id of a job in the path. */
export const JOB_ID = object({ id: { type: 'string', pattern: '^[\\w-]{1,64}$' } })

/** A `Prefer` header that asks for an answer before the work is done. */
export const RESPOND_ASYNC = /(?:^|,)\s*respond-async\s*(?:[;,]|$)/i
