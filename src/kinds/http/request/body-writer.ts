import type { Params } from '../../../core/tool.ts'
import type { HttpImplementation } from '../definition/http-implementation.ts'
import type { PlacedParameter } from './placed-parameters.ts'
import { refusedParameter, unfitImplementation } from './request-errors.ts'
import { encodeQuery, own, type WritableParameter, writePairs } from './write-parameter.ts'

/** Writes the bodies of a tool's requests. */
export interface BodyWriter {
  readonly contentType: string
  /** Returns the body; undefined if there is nothing to send. */
  write(params: Params): string | undefined
}

const CONTENT_TYPES = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  text: 'text/plain; charset=utf-8',
} as const

/** Creates the body writer of a tool; undefined if no parameter is sent in a body. */
export function bodyWriter(
  { body: form = 'json', body_param: whole, headers = {} }: HttpImplementation,
  placed: readonly PlacedParameter[],
): BodyWriter | undefined {
  const inBody = placed.filter((parameter) => parameter.in === 'body')
  const [first, second] = inBody
  if (first === undefined) return undefined
  checkContentType(form, headers)
  const contentType = CONTENT_TYPES[form]
  if (form === 'text') {
    if (second !== undefined) {
      throw unfitImplementation(
        `implementation.body is 'text', and parameters '${first.parameter}' and '${second.parameter}' would both be it: name one in body_param`,
      )
    }
    return { contentType, write: (params) => textBody(first.parameter, own(params, first.parameter)) }
  }
  if (whole !== undefined) {
    const write = form === 'form' ? formOf : (value: unknown) => JSON.stringify(value)
    return { contentType, write: (params) => write(own(params, whole), whole) }
  }
  return { contentType, write: form === 'form' ? formWriter(inBody) : jsonWriter(inBody) }
}

/** Rejects a content-type header that contradicts `implementation.body`. */
function checkContentType(form: keyof typeof CONTENT_TYPES, headers: Readonly<Record<string, string>>): void {
  const name = Object.keys(headers).find((one) => one.toLowerCase() === 'content-type')
  const [type = ''] = name === undefined ? [] : (headers[name]?.toLowerCase().split(';', 1) ?? [])
  const fits =
    form === 'text' || type === '' || (form === 'form' ? type.trim() === CONTENT_TYPES.form : /json/.test(type))
  if (fits) return
  const fix = type.trim() === CONTENT_TYPES.form ? 'write "body": "form"' : 'remove the header, or write "body": "text"'
  throw unfitImplementation(`implementation.headers.${name} '${type.trim()}' is not what a ${form} body is: ${fix}`)
}

function jsonWriter(inBody: readonly PlacedParameter[]): BodyWriter['write'] {
  const keys = inBody.map(({ parameter, name }) => ({ parameter, key: `${JSON.stringify(name)}:` }))
  return (params) => {
    let text = ''
    for (const { parameter, key } of keys) {
      const value = own(params, parameter)
      if (value === undefined) continue
      text += `${text === '' ? '{' : ','}${key}${JSON.stringify(value)}`
    }
    return text === '' ? '{}' : `${text}}`
  }
}

function formWriter(inBody: readonly PlacedParameter[]): BodyWriter['write'] {
  const fields: readonly WritableParameter[] = inBody.map((parameter) => ({
    ...parameter,
    key: encodeQuery(parameter.name, parameter.parameter),
    encode: encodeQuery,
    between: '&',
  }))
  return (params) =>
    fields
      .map((field) => writePairs(own(params, field.parameter), field))
      .filter((pairs) => pairs !== undefined)
      .join('&')
}

/** Writes one parameter as the whole form. */
function formOf(value: unknown, parameter: string): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw refusedParameter(parameter, value, 'must be an object, as it is sent as a form')
  }
  const to = { parameter, in: 'body', style: undefined, explode: true, keys: new Set<string>(), between: '&' } as const
  return Object.entries(value)
    .map(([name, one]) => writePairs(one, { ...to, name, key: encodeQuery(name, parameter), encode: encodeQuery }))
    .filter((pairs) => pairs !== undefined)
    .join('&')
}

function textBody(parameter: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (!text.isWellFormed()) throw refusedParameter(parameter, text, 'must not hold half of a surrogate pair')
  return text
}
