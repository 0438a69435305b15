import type { ParameterStyle } from '../kinds/http/definition/http-implementation.ts'
import type { ApiBody, ApiContent, TakeNote } from './api-operation.ts'
import type { Documents } from './documents.ts'
import { type FlatObject, flattenObject } from './flatten-object.ts'
import { bareType, bestType, bodyForm, isPlainType } from './media-type.ts'
import { Unmappable } from './openapi-error.ts'
import type { PlacedParameter } from './placed-parameter.ts'
import { own, ownText, quoted, type Raw } from './raw.ts'
import type { SchemaPart, SchemaParts } from './schema-part.ts'

/** What a body becomes. */
export interface BodyParameters {
  readonly parameters: readonly PlacedParameter[]
  readonly form: 'json' | 'form' | 'text'
  /** Where it is not the usual one. */
  readonly contentType?: string
  readonly closed?: boolean
  readonly oneRequired?: FlatObject['oneRequired']
}

const STYLES: readonly ParameterStyle[] = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject']

/** The body of an operation as parameters: one for each property, or one for the whole. Throws `Unmappable`. */
export function bodyParameters(
  body: ApiBody,
  documents: Documents,
  parts: SchemaParts,
  note: TakeNote,
): BodyParameters {
  const content = bestType(body.content)
  if (content === undefined) {
    const types = body.content.map(({ mediaType }) => quoted(mediaType)).join(', ')
    throw new Unmappable(`its body is ${types}: tools send JSON, forms and text`)
  }
  const form = bodyForm(content.mediaType) as BodyParameters['form']
  const { mediaType } = content
  if (!isPlainType(mediaType)) throw new Unmappable(`its body has the type ${quoted(mediaType)}, which is none`)
  const usual = {
    json: ['application/json', '*/*', 'application/*'],
    form: [bareType(mediaType)],
    text: ['text/plain'],
  }
  const contentType = usual[form].includes(mediaType.toLowerCase()) ? {} : { contentType: mediaType }
  if (form === 'text') return { form, ...contentType, parameters: [textBody(body, content, parts)] }
  const flat = content.schema === undefined ? undefined : flattenObject(content.schema, documents)
  if (flat === undefined) {
    if (form === 'form' && !isMapping(content.schema, documents)) throw new Unmappable('its form is no object')
    return { form, ...contentType, parameters: [wholeBody(body, content, parts)] }
  }
  for (const what of flat.lost) note(`left out: ${what} of its body`)
  if (flat.open) note('properties of its body that the document does not name cannot be sent')
  const parameters = [...flat.properties].flatMap(([apiName, raws]): PlacedParameter[] => {
    const part = parts.all(raws)
    if (part.isReadOnly) return []
    const required = body.required && flat.required.has(apiName)
    return [{ apiName, place: 'body', part, required, ...(form === 'form' && encodingOf(content, apiName)) }]
  })
  if (parameters.length === 0) note('its body is not sent: only answers have what is in it')
  return {
    form,
    ...contentType,
    parameters,
    closed: flat.closed,
    ...(body.required && flat.oneRequired.length > 0 && { oneRequired: flat.oneRequired }),
  }
}

const isMapping = (schema: Raw | undefined, documents: Documents): boolean =>
  schema !== undefined && [own(documents.follow(schema).value, 'type')].flat().includes('object')

function wholeBody({ required, description }: ApiBody, { schema }: ApiContent, parts: SchemaParts): PlacedParameter {
  const part = parts.of(schema ?? { value: {}, file: '' })
  return { apiName: 'body', place: 'body', part, required, isBody: true, ...(description && { description }) }
}

/** Whatever the document says of its structure, a text is sent as it is. */
function textBody(body: ApiBody, { schema, mediaType }: ApiContent, parts: SchemaParts): PlacedParameter {
  const text = schema === undefined ? undefined : parts.of(schema)
  const part = isText(text) ? text : parts.of({ value: { type: 'string' }, file: '' })
  const description = body.description ?? `The body, as ${bareType(mediaType)}.`
  return { apiName: 'body', place: 'body', part, required: body.required, isBody: true, description }
}

function isText(part: SchemaPart | undefined): part is SchemaPart {
  return (part?.reference ?? part)?.keywords.type === 'string'
}

/** How a property is written in a form, where not as usual. */
function encodingOf({ encoding }: ApiContent, name: string): Pick<PlacedParameter, 'style' | 'explode'> {
  const written = ownText(own(encoding, name), 'style')
  const style = STYLES.find((one) => one === written && one !== 'form')
  const explode = own(own(encoding, name), 'explode')
  const isUsual = explode === (style === undefined) || style === 'deepObject'
  return { ...(style !== undefined && { style }), ...(typeof explode === 'boolean' && !isUsual && { explode }) }
}
