import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { OperationError } from '../core/operation/operation-error.ts'
import { ruleInWords, shortened } from '../core/schema/problem-words.ts'
import { suggest } from '../core/suggest.ts'
import type { AnyOperation } from './operation.ts'

const OPTIONS = { strict: false, strictNumbers: true, verbose: true, useDefaults: true } as const

/** Only values in a URL are coerced, because they are always text. */
const bodies = new Ajv(OPTIONS)
const addresses = new Ajv({ ...OPTIONS, coerceTypes: true })
addFormats.default(bodies)
addFormats.default(addresses)

/** By the text of their schemas: Fastify copies the schemas for each server. */
const validators = { bodies: new Map<string, ValidateFunction>(), addresses: new Map<string, ValidateFunction>() }

type Validate = (value: unknown) => true | { error: ErrorObject[] }
interface Part {
  readonly schema: object
  /** Fastify's word for the part of the request. */
  readonly httpPart?: string | undefined
}

/** Compiles a validator at the first request that needs it: all of them together take a fifth of the start. */
export function compileValidator({ schema, httpPart }: Part): Validate {
  let validate: ValidateFunction | undefined
  return (value: unknown) => {
    validate ??=
      httpPart === 'body'
        ? compile(schema, bodies, validators.bodies)
        : compile(schema, addresses, validators.addresses)
    if (!validate(value)) return { error: validate.errors ?? [] }
    // Ajv reads "1e999" in a URL as a number without end.
    const endless = Object.entries(Object(value)).find(([, one]) => typeof one === 'number' && !Number.isFinite(one))
    return (
      endless === undefined || {
        error: [{ instancePath: `/${endless[0]}`, keyword: 'type', schemaPath: '', schema: 'number', params: {} }],
      }
    )
  }
}

function compile(schema: object, ajv: Ajv, known: Map<string, ValidateFunction>): ValidateFunction {
  const text = JSON.stringify(schema)
  const validate = known.get(text) ?? ajv.compile(schema)
  known.set(text, validate)
  return validate
}

/** Describes the first schema error with the same words as the tool executor. */
export function validationError(errors: readonly object[]): Error {
  return new Error(inWords(errors[0] as ErrorObject))
}

/** What to say about a field that a body or an address can't have. */
export function unknownField(name: string, known: readonly string[], place = name): string {
  const [near] = suggest(name, known)
  return `'${shortened(place)}' is not known${near === undefined ? '' : `. Did you mean '${near}'?`}`
}

function inWords({ instancePath, keyword, params, schema, parentSchema }: ErrorObject): string {
  const path = instancePath
    .slice(1)
    .replaceAll(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replaceAll('/', '.')
  const inside = (name: unknown) => shortened(path === '' ? String(name) : `${path}.${name}`)
  if (keyword === 'required') return `missing '${inside(params.missingProperty)}'`
  if (keyword === 'additionalProperties') {
    const { additionalProperty: name } = params
    return unknownField(name, Object.keys(parentSchema?.properties ?? {}), inside(name))
  }
  return `${path === '' ? 'the body' : shortened(path)} ${ruleInWords(keyword, schema)}`
}

/** The whole input of an operation as one schema, as requests may send it. */
export function inputSchema({ params, query, body }: AnyOperation, local?: object): object {
  const parts = [params, query, body, local].map((part) => Object(part) as { properties?: object; required?: string[] })
  return {
    ...(body ?? { type: 'object', additionalProperties: false }),
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: [...Object.keys(parts[0]?.properties ?? {}), ...(parts[2]?.required ?? [])],
  }
}

/** Checks an input that came over no route, and adds defaults to it. */
export function checkInput(operation: AnyOperation, input: object): void {
  const checked = compileValidator({ schema: inputSchema(operation, operation.local), httpPart: 'body' })(input)
  if (checked === true) return
  throw new OperationError('invalid', `The input is not valid: ${validationError(checked.error).message}`)
}
