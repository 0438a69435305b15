import { quoted } from '../core/schema/problem-words.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import type { ParameterStyle } from '../kinds/http/definition/http-implementation.ts'
import {
  type Documents,
  own,
  ownList,
  ownObject,
  ownText,
  type Raw,
  type RawObject,
  ROOT,
  Unmappable,
} from './documents.ts'
import {
  type ApiBody,
  type ApiContent,
  type ApiOperation,
  type ApiParameter,
  type ApiReader,
  isIgnored,
  mergedParameters,
  type TakeNote,
} from './operations.ts'

const STYLES: Readonly<Record<ApiParameter['in'], readonly ParameterStyle[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
}

/** Reads OpenAPI 3. */
export function readerThree(document: RawObject, documents: Documents): ApiReader {
  const components = ownObject(document, 'components')
  const schemes = Object.entries(ownObject(components, 'securitySchemes'))
  return {
    securitySchemes: new Map(schemes.map(([name, value]) => [name, resolved(value, documents)])),

    parameters: (operation, note) =>
      mergedParameters(operation, documents).flatMap((raw) => parameter(raw, documents, note)),

    body: ({ operation: { value, file } }, note) => {
      const written = own(value, 'requestBody')
      if (written === undefined) return undefined
      const body = documents.follow({ value: written, file })
      const content = contentOf(body, documents)
      if (content.length === 0) {
        note('its body has no content, and is not sent')
        return undefined
      }
      const description = ownText(body.value, 'description')
      return { required: own(body.value, 'required') === true, content, ...(description && { description }) }
    },

    answers: ({ operation: { value, file } }, note) => {
      const responses = Object.entries(ownObject(value, 'responses'))
      const good = responses.filter(([status]) => /^2/.test(status))
      const read = good.length > 0 ? good : responses.filter(([status]) => status === 'default')
      return read.flatMap(([status, response]) => {
        try {
          return contentOf(documents.follow({ value: response, file }), documents).map(({ mediaType }) => mediaType)
        } catch (error) {
          if (!(error instanceof Unmappable)) throw error
          note(`its answer ${quoted(status)} is not described: ${error.message}`)
          return []
        }
      })
    },

    servers: ({ operation, pathItem }) => {
      const holder = [operation.value, pathItem.value, document].find((one) => ownList(one, 'servers').length > 0)
      return ownList(holder, 'servers').flatMap((server) => serverAddress(server) ?? [])
    },
  }
}

/** A security scheme that can't be resolved counts as unknown. */
function resolved(value: unknown, documents: Documents): RawObject {
  try {
    const scheme = documents.follow({ value, file: ROOT }).value
    return isObject(scheme) ? scheme : {}
  } catch (error) {
    if (error instanceof Unmappable) return {}
    throw error
  }
}

function parameter({ value, file }: Raw & { value: RawObject }, documents: Documents, note: TakeNote): ApiParameter[] {
  const name = ownText(value, 'name') ?? ''
  const place = ownText(value, 'in') ?? ''
  if (!isPlace(place))
    throw new Unmappable(`its parameter ${quoted(name)} is sent in ${quoted(place)}, which is unknown`)
  if (isIgnored(place, name)) {
    note(`the parameter ${quoted(name)} is left out: that header is set by the definition`)
    return []
  }
  const [content] = contentOf({ value, file }, documents)
  const description = ownText(value, 'description')
  const example = exampleOf(value)
  const written = ownText(value, 'style')
  const style = STYLES[place].find((one) => one === written)
  if (written !== undefined && style === undefined) {
    note(
      `the style ${quoted(written)} of the parameter ${quoted(name)} is not allowed for a ${place} parameter and is ignored`,
    )
  }
  if (own(value, 'allowReserved') === true) {
    note(`reserved characters in the parameter ${quoted(name)} are encoded, although the document allows them`)
  }
  return [
    {
      name,
      in: place,
      required: place === 'path' || own(value, 'required') === true,
      schema: content?.schema ?? { value: own(value, 'schema'), file },
      ...(description && { description }),
      ...(own(value, 'deprecated') === true && { deprecated: true }),
      ...(example !== undefined && { example }),
      ...(content !== undefined ? { mediaType: content.mediaType } : unusual(place, style, own(value, 'explode'))),
    },
  ]
}

const isPlace = (text: string): text is ApiParameter['in'] => Object.hasOwn(STYLES, text)

/** Returns style and explode if they differ from the defaults. */
function unusual(
  place: ApiParameter['in'],
  style: ParameterStyle | undefined,
  explode: unknown,
): { style?: ParameterStyle; explode?: boolean } {
  const usual = STYLES[place][0]
  const exploded = (style ?? usual) === 'form'
  return {
    ...(style !== undefined && style !== usual && { style }),
    ...(typeof explode === 'boolean' && explode !== exploded && style !== 'deepObject' && { explode }),
  }
}

function exampleOf(value: RawObject): unknown {
  if (Object.hasOwn(value, 'example')) return value.example
  return own(Object.values(ownObject(value, 'examples'))[0], 'value')
}

function contentOf({ value, file }: Raw, documents: Documents): ApiContent[] {
  return Object.entries(ownObject(value, 'content')).map(([mediaType, written]) => {
    const entry = documents.follow({ value: written, file })
    const schema = own(entry.value, 'schema')
    return {
      mediaType,
      encoding: ownObject(entry.value, 'encoding'),
      ...(schema !== undefined && { schema: { value: schema, file: entry.file } }),
    }
  })
}

/** Replaces server variables by their defaults; others stay. */
function serverAddress(server: unknown): string | undefined {
  const variables = ownObject(server, 'variables')
  return ownText(server, 'url')?.replace(/\{([^{}]{1,200})\}/g, (whole, name: string) => {
    const value = own(own(variables, name), 'default')
    return typeof value === 'string' || typeof value === 'number' ? String(value) : whole
  })
}

type Placing = Pick<ApiParameter, 'style' | 'explode'>

/** Collection formats that OpenAPI 3 can express. */
const IN_QUERY: Readonly<Record<string, Placing>> = {
  csv: { explode: false },
  multi: {},
  ssv: { style: 'spaceDelimited' },
  pipes: { style: 'pipeDelimited' },
}
const FLOWS: Readonly<Record<string, string>> = {
  application: 'clientCredentials',
  accessCode: 'authorizationCode',
  implicit: 'implicit',
  password: 'password',
}
const FORM = 'application/x-www-form-urlencoded'

/** Reads Swagger 2 without converting the document, so one bad part doesn't affect others. */
export function readerTwo(document: RawObject, documents: Documents): ApiReader {
  const schemes = Object.entries(ownObject(document, 'securityDefinitions'))
  const typesOf = (operation: ApiOperation, key: 'consumes' | 'produces'): string[] => {
    const holder = [operation.operation.value, document].find((one) => ownList(one, key).length > 0)
    return ownList(holder, key).filter((type) => typeof type === 'string')
  }
  return {
    securitySchemes: new Map(schemes.map(([name, scheme]) => [name, schemeThree(scheme)])),

    parameters: (operation, note) =>
      mergedParameters(operation, documents).flatMap((raw) => (isInBody(raw) ? [] : swaggerParameter(raw, note))),

    body: (operation, note) => {
      const written = mergedParameters(operation, documents)
      const body = written.find((raw) => own(raw.value, 'in') === 'body')
      const fields = written.filter((raw) => own(raw.value, 'in') === 'formData')
      const types = typesOf(operation, 'consumes')
      if (body !== undefined) {
        if (fields.length > 0) note('its form fields are left out: it has a body as well')
        return wholeBody(body, types)
      }
      return fields.length > 0 ? formBody(fields, types) : undefined
    },

    answers: (operation) => {
      const statuses = Object.entries(ownObject(operation.operation.value, 'responses'))
      const answered = statuses.some(([status, response]) => {
        const isGood = /^2|^default$/.test(status)
        return isGood && (own(response, 'schema') !== undefined || own(response, '$ref') !== undefined)
      })
      return answered ? typesOf(operation, 'produces') : []
    },

    servers: ({ operation }) => {
      const host = ownText(document, 'host')
      const path = ownText(document, 'basePath') ?? ''
      if (host === undefined) return path === '' ? [] : [path]
      const holder = [operation.value, document].find((one) => ownList(one, 'schemes').length > 0)
      const schemes = ownList(holder, 'schemes').filter((scheme) => scheme === 'https' || scheme === 'http')
      return (schemes.length > 0 ? schemes : ['https']).map((scheme) => `${scheme}://${host}${path}`)
    },
  }
}

const isInBody = ({ value }: Raw): boolean => ['body', 'formData'].includes(ownText(value, 'in') ?? '')

function swaggerParameter({ value, file }: Raw & { value: RawObject }, note: TakeNote): ApiParameter[] {
  const name = ownText(value, 'name') ?? ''
  const place = ownText(value, 'in')
  if (place !== 'path' && place !== 'query' && place !== 'header') {
    throw new Unmappable(`its parameter ${quoted(name)} is sent in ${quoted(place ?? '')}, which is unknown`)
  }
  if (isIgnored(place, name)) {
    note(`the parameter ${quoted(name)} is left out: that header is set by the definition`)
    return []
  }
  const description = ownText(value, 'description')
  const placing = own(value, 'type') === 'array' ? listPlacing(value, name, place) : {}
  return [
    {
      name,
      in: place,
      required: place === 'path' || own(value, 'required') === true,
      schema: { value, file },
      ...(description && { description }),
      ...placing,
    },
  ]
}

/** Lists in paths and headers are always comma-separated. */
function listPlacing(value: RawObject, name: string, place: string): Placing {
  const format = ownText(value, 'collectionFormat') ?? 'csv'
  if (place !== 'query' && format === 'csv') return {}
  const placing = place === 'query' && Object.hasOwn(IN_QUERY, format) ? IN_QUERY[format] : undefined
  if (placing === undefined) {
    throw new Unmappable(
      `its parameter ${quoted(name)} is a list written as ${quoted(format)}, which a ${place} cannot have`,
    )
  }
  return placing
}

function wholeBody({ value, file }: Raw, types: readonly string[]): ApiBody {
  const schema = own(value, 'schema')
  const description = ownText(value, 'description')
  const content = (types.length > 0 ? types : ['application/json']).map((mediaType): ApiContent => {
    return { mediaType, encoding: {}, ...(schema !== undefined && { schema: { value: schema, file } }) }
  })
  return { required: own(value, 'required') === true, content, ...(description && { description }) }
}

function formBody(fields: readonly (Raw & { value: RawObject })[], types: readonly string[]): ApiBody {
  const named = fields.map(({ value }) => [ownText(value, 'name') ?? '', value] as const)
  const isFile = named.some(([, value]) => own(value, 'type') === 'file')
  const isForm = !isFile && (types.includes(FORM) || !types.includes('multipart/form-data'))
  const required = named.filter(([, value]) => own(value, 'required') === true).map(([name]) => name)
  const encoding = Object.fromEntries(
    named.map(([name, value]) => [name, own(value, 'type') === 'array' ? listEncoding(value, name) : {}]),
  )
  const schema = { type: 'object', properties: Object.fromEntries(named), required }
  const file = fields[0]?.file ?? ''
  const content = { mediaType: isForm ? FORM : 'multipart/form-data', schema: { value: schema, file }, encoding }
  return { required: required.length > 0, content: [content] }
}

function listEncoding(value: RawObject, name: string): RawObject {
  return { explode: true, ...listPlacing(value, name, 'query') }
}

function schemeThree(scheme: unknown): RawObject {
  const type = ownText(scheme, 'type')
  if (type === 'basic') return { type: 'http', scheme: 'basic' }
  if (type !== 'oauth2') return ownObject({ scheme }, 'scheme')
  const flow = ownText(scheme, 'flow') ?? ''
  return { type, flows: { [Object.hasOwn(FLOWS, flow) ? (FLOWS[flow] ?? flow) : flow]: scheme } }
}
