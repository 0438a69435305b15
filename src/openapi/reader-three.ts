import type { ParameterStyle } from '../kinds/http/definition/http-implementation.ts'
import type { ApiContent, ApiParameter, ApiReader, TakeNote } from './api-operation.ts'
import { type Documents, ROOT } from './documents.ts'
import { isIgnored, mergedParameters } from './merged-parameters.ts'
import { Unmappable } from './openapi-error.ts'
import { isObject, own, ownList, ownObject, ownText, quoted, type Raw, type RawObject } from './raw.ts'

const STYLES: Readonly<Record<ApiParameter['in'], readonly ParameterStyle[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
}

/** OpenAPI 3. */
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

/** A security scheme that cannot be found is one that nobody knows. */
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
    throw new Unmappable(`its parameter ${quoted(name)} goes to ${quoted(place)}, which nobody knows`)
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
      `the style ${quoted(written)} of the parameter ${quoted(name)} is none for a ${place} parameter, and is left out`,
    )
  }
  if (own(value, 'allowReserved') === true) {
    note(`reserved characters in the parameter ${quoted(name)} are encoded, which the document wants otherwise`)
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

/** Style and explode, as far as they are not what a place has anyway. */
export function unusual(
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

/** The address of a server with its variables replaced; one without a default stays, and makes it no address. */
function serverAddress(server: unknown): string | undefined {
  const variables = ownObject(server, 'variables')
  return ownText(server, 'url')?.replace(/\{([^{}]{1,200})\}/g, (whole, name: string) => {
    const value = own(own(variables, name), 'default')
    return typeof value === 'string' || typeof value === 'number' ? String(value) : whole
  })
}
