import { quoted } from '../core/schema/problem-words.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import type { ParameterStyle } from '../kinds/http/definition/http-implementation.ts'
import { type Documents, own, ownList, ownObject, ownText, type Raw, type RawObject, Unmappable } from './documents.ts'
import type { ApiBody, ApiContent, TakeNote } from './operations.ts'
import type { PlacedParameter } from './parameters.ts'
import type { SchemaPart, SchemaParts } from './schema-part.ts'

/** The parameters that a body becomes. */
export interface BodyParameters {
  readonly parameters: readonly PlacedParameter[]
  readonly form: 'json' | 'form' | 'text'
  readonly contentType?: string
  readonly closed?: boolean
  readonly oneRequired?: FlatObject['oneRequired']
}

const STYLES: readonly ParameterStyle[] = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject']

/** Turns a body into parameters: one per property, or one for the whole body. Throws `Unmappable`. */
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
  if (!isPlainType(mediaType)) throw new Unmappable(`its body has the invalid type ${quoted(mediaType)}`)
  const usual = {
    json: ['application/json', '*/*', 'application/*'],
    form: [bareType(mediaType)],
    text: ['text/plain'],
  }
  const contentType = usual[form].includes(mediaType.toLowerCase()) ? {} : { contentType: mediaType }
  if (form === 'text') return { form, ...contentType, parameters: [textBody(body, content, parts)] }
  const flat = content.schema === undefined ? undefined : flattenObject(content.schema, documents)
  if (flat === undefined) {
    if (form === 'form' && !isMapping(content.schema, documents)) throw new Unmappable('its form is not an object')
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
  if (parameters.length === 0) note('its body is not sent: all its properties are read-only')
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

/** A text is sent unchanged, whatever the document says about its structure. */
function textBody(body: ApiBody, { schema, mediaType }: ApiContent, parts: SchemaParts): PlacedParameter {
  const text = schema === undefined ? undefined : parts.of(schema)
  const part = isText(text) ? text : parts.of({ value: { type: 'string' }, file: '' })
  const description = body.description ?? `The body, as ${bareType(mediaType)}.`
  return { apiName: 'body', place: 'body', part, required: body.required, isBody: true, description }
}

function isText(part: SchemaPart | undefined): part is SchemaPart {
  return (part?.reference ?? part)?.keywords.type === 'string'
}

/** The style of a form property, if it isn't the default. */
function encodingOf({ encoding }: ApiContent, name: string): Pick<PlacedParameter, 'style' | 'explode'> {
  const written = ownText(own(encoding, name), 'style')
  const style = STYLES.find((one) => one === written && one !== 'form')
  const explode = own(own(encoding, name), 'explode')
  const isUsual = explode === (style === undefined) || style === 'deepObject'
  return { ...(style !== undefined && { style }), ...(typeof explode === 'boolean' && !isUsual && { explode }) }
}

interface FlatObject {
  /** All descriptions of a property apply. */
  readonly properties: ReadonlyMap<string, readonly Raw[]>
  readonly required: ReadonlySet<string>
  /** Whether other properties are forbidden. */
  readonly closed: boolean
  /** Whether other properties are explicitly allowed. */
  readonly open: boolean
  /** Rules about the object that can't be kept. */
  readonly lost: ReadonlySet<string>
  /** Lists of names; one list must be present completely. */
  readonly oneRequired: readonly (readonly (readonly string[])[])[]
}

const MAX_NESTED = 32
/** With more properties, the body becomes one parameter. */
const MAX_PROPERTIES = 1_000
/** Keywords that can't be split into single properties. */
const OF_THE_WHOLE = [
  'not',
  'if',
  'patternProperties',
  'propertyNames',
  'dependentSchemas',
  'dependentRequired',
  'unevaluatedProperties',
  'enum',
  'const',
  'items',
]
/** Keywords that would count other parameters too. */
const COUNTS = ['minProperties', 'maxProperties']
const ANNOTATIONS: ReadonlySet<string> = new Set(['required', 'title', 'description', 'type'])

/**
 * Collects the properties of an object schema and its `allOf`; undefined if it has other rules. Throws `Unmappable` if
 * a reference does not exist.
 */
function flattenObject(raw: Raw, documents: Documents): FlatObject | undefined {
  const properties = new Map<string, Raw[]>()
  const required = new Set<string>()
  const oneRequired: (readonly (readonly string[])[])[] = []
  const seen = new Set<unknown>()
  const lost = new Set<string>()
  let closed = false
  let open = false

  function add(from: Raw, nested: number): boolean {
    const { value, file } = documents.follow(from)
    if (!isObject(value) || nested > MAX_NESTED || !isObjectType(value)) return false
    if (seen.has(value)) return true
    seen.add(value)
    if (OF_THE_WHOLE.some((keyword) => Object.hasOwn(value, keyword))) return false
    for (const rule of COUNTS) if (Object.hasOwn(value, rule)) lost.add(rule)
    const kinds = Object.keys(ownObject(own(value, 'discriminator'), 'mapping'))
    if (nested === 0 && kinds.length > 0) lost.add(`the kinds ${quoted(kinds.join(', '))}`)
    const named = ownObject(value, 'properties')
    if (Object.keys(named).length + properties.size > MAX_PROPERTIES) return false
    for (const [name, property] of Object.entries(named)) {
      const known = properties.get(name) ?? []
      if (!known.some((one) => one.value === property)) properties.set(name, [...known, { value: property, file }])
    }
    for (const name of ownList(value, 'required')) if (typeof name === 'string') required.add(name)
    const others = own(value, 'additionalProperties')
    if (others === false) closed = nested === 0
    else if (others === true || (isObject(others) && Object.keys(others).length === 0)) open = true
    else if (isObject(others)) return false
    for (const keyword of ['anyOf', 'oneOf']) {
      const members = ownList(value, keyword).map((member) =>
        requiredOnly(documents.follow({ value: member, file }).value),
      )
      if (!members.every((member) => member !== undefined)) return false
      if (members.length > 0 && members.every((names) => names.length > 0)) oneRequired.push(members)
    }
    return ownList(value, 'allOf').every((member) => add({ value: member, file }, nested + 1))
  }

  if (!add(raw, 0) || properties.size === 0) return undefined
  return { properties, required, closed: closed && seen.size === 1, open, lost, oneRequired }
}

function isObjectType(value: RawObject): boolean {
  const type = own(value, 'type')
  return type === undefined || [type].flat().includes('object')
}

/** The names that a schema requires; undefined if it has other rules. */
function requiredOnly(value: unknown): string[] | undefined {
  if (!isObject(value) || !Object.keys(value).every((keyword) => ANNOTATIONS.has(keyword))) return undefined
  if (!isObjectType(value)) return undefined
  return ownList(value, 'required').filter((name) => typeof name === 'string')
}

/** `binary`: a tool can't write it. */
type BodyForm = 'json' | 'form' | 'text' | 'binary'

const TEXT =
  /^(?:text\/|application\/(?:xml|xhtml|javascript|ecmascript|graphql|sql|yaml|toml|x-(?:yaml|sh|ndjson|jsonlines|javascript|sql)|jsonl|jose|jwt|n-triples|n-quads|sparql-[a-z]+|ld-frame)\b)|[+](?:xml|yaml)$/
const WILD = /^(?:\*|application)\/\*$/

const bareType = (mediaType: string): string => (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase()

function bodyForm(mediaType: string): BodyForm {
  const type = bareType(mediaType)
  if (isJson(type) || WILD.test(type)) return 'json'
  if (type === 'application/x-www-form-urlencoded') return 'form'
  return TEXT.test(type) ? 'text' : 'binary'
}

function isJson(mediaType: string): boolean {
  return /^(?:application|text)\/json$|^[\w.-]+\/[\w.+-]+[+]json$/.test(bareType(mediaType))
}

const RANKS: readonly ((type: string) => boolean)[] = [
  (type) => type === 'application/json',
  isJson,
  (type) => bodyForm(type) === 'form',
  (type) => WILD.test(type),
  (type) => bodyForm(type) === 'text',
]

export function bestType<T extends { readonly mediaType: string }>(types: readonly T[]): T | undefined {
  for (const isOne of RANKS) {
    const found = types.find(({ mediaType }) => isOne(bareType(mediaType)))
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether a type is safe in a header. */
export const isPlainType = (mediaType: string): boolean =>
  /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*;[ -~]{0,200})?$/.test(mediaType) && !mediaType.includes('${')
