import { Ajv, type ErrorObject } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { ruleInWords, shortened } from '../core/schema/problem-words.ts'

const OPTIONS = { strict: false, verbose: true, useDefaults: true } as const

/** Bodies are taken as they are. What stands in an address is always text, and becomes the number that is asked for. */
const bodies = new Ajv(OPTIONS)
const addresses = new Ajv({ ...OPTIONS, coerceTypes: true })
addFormats.default(bodies)
addFormats.default(addresses)

export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) =>
  (httpPart === 'body' ? bodies : addresses).compile(schema)

/** Says what is wrong with a request, in the words that calls are refused with. */
export function validationError(errors: readonly object[]): Error {
  return new Error(inWords(errors[0] as ErrorObject))
}

function inWords({ instancePath, keyword, params, schema }: ErrorObject): string {
  const path = instancePath
    .slice(1)
    .replaceAll(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replaceAll('/', '.')
  const inside = (name: unknown) => shortened(path === '' ? String(name) : `${path}.${name}`)
  if (keyword === 'required') return `missing '${inside(params.missingProperty)}'`
  if (keyword === 'additionalProperties') return `'${inside(params.additionalProperty)}' is not known`
  return `${path === '' ? 'the body' : shortened(path)} ${ruleInWords(keyword, schema)}`
}
