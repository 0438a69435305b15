import { isSecretText } from '../../config/config-text.ts'
import { setOwn } from '../../core/json/json-type.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { HttpMethod, Place } from '../../kinds/http/definition/http-implementation.ts'
import { SetupError } from './setup-error.ts'

const MAX_PARAMETERS = 200
const MAX_DEPTH = 8
const MAX_EXAMPLE = 200
/** Ids in a path: numbers, UUIDs, long hexadecimal numbers, mixtures of letters and digits, addresses. */
const isId = (part: string): boolean =>
  /^(?:\d+|[\da-f]{8}-[\da-f-]{27}|[\da-f]{12,}|[^/@]+@[^/@]+)$/i.test(part) ||
  (/^[\w-]{10,}$/.test(part) && /\d/.test(part) && /[a-z]/i.test(part))
/** `{id}`, `:id` and `<id>` are how documentation writes them. */
const TEMPLATE = /^(?:\{([\w-]+)\}|:([A-Za-z][\w-]*)|<([\w-]+)>)$/

/** The parameters of a tool, found in an example of its request. */
export class RequestParameters {
  readonly #method: HttpMethod
  readonly #properties = new Map<string, JsonSchema>()
  readonly #required: string[] = []
  readonly #places: Record<string, Place> = {}
  /** What the API calls each parameter. */
  readonly #names = new Map<string, string>()
  #whole: string | undefined

  constructor(method: HttpMethod) {
    this.#method = method
  }

  /** Returns the path with a parameter instead of each id. */
  path(pathname: string): string {
    const segments = pathname.split('/').map(decoded)
    return segments
      .map((segment, at) => {
        const [, ...named] = TEMPLATE.exec(segment) ?? []
        const given = named.find((one) => one !== undefined)
        if (given === undefined && !isId(segment)) return encodeURIComponent(segment).replaceAll('%24', '$')
        const before = segments.slice(0, at).findLast((one) => /^[a-z][\w-]*$/i.test(one)) ?? ''
        const wanted = given ?? `${before.replace(/ies$/i, 'y').replace(/(?<![s])s$/i, '')}_id`
        const name = this.#free(wanted)
        this.#properties.set(
          name,
          given === undefined ? inferredSchema(typedText(segment)) : { type: 'string', minLength: 1 },
        )
        this.#required.push(name)
        this.#names.set(name, name)
        return `{${name}}`
      })
      .join('/')
  }

  /** Adds a parameter with its value in the example. */
  add(apiName: string, place: 'query' | 'body', value: unknown): void {
    const name = this.#free(apiName)
    this.#properties.set(name, inferredSchema(value))
    this.#names.set(name, apiName)
    const usual = ['POST', 'PUT', 'PATCH'].includes(this.#method) ? 'body' : 'query'
    if (place !== usual) setOwn(this.#places, name, place)
    if (place === 'body') this.#required.push(name)
  }

  /** One parameter is the whole body. */
  whole(schema: JsonSchema): void {
    const name = this.#free('body')
    this.#properties.set(name, schema)
    this.#required.push(name)
    this.#whole = name
  }

  settled(body: 'json' | 'form' | 'text' | undefined) {
    const renamed = [...this.#names].filter(([name, apiName]) => name !== apiName)
    return {
      properties: Object.fromEntries(this.#properties),
      required: this.#required,
      keys: {
        // With a mapping, only mapped parameters are sent.
        ...(renamed.length > 0 && { params_mapping: Object.fromEntries(this.#names) }),
        ...(Object.keys(this.#places).length > 0 && { params_in: this.#places }),
        ...(body !== undefined && body !== 'json' && { body }),
        ...(this.#whole !== undefined && { body_param: this.#whole }),
      },
    }
  }

  #free(wanted: string): string {
    if (this.#properties.size >= MAX_PARAMETERS) {
      throw new SetupError(422, `The request has more than ${MAX_PARAMETERS} parameters: shorten it`)
    }
    const plain =
      wanted
        .replace(/[^\w-]+/g, '_')
        .replace(/^_+|(?<!_)_+$/g, '')
        .slice(0, 60) || 'value'
    // A parameter must not be called like something that every object has.
    const base = plain in {} ? `${plain}_value` : plain
    for (let at = 1; ; at++) {
      const name = at === 1 ? base : `${base}_${at}`
      if (!this.#properties.has(name)) return name
    }
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** The value that a text stands for. A number with a leading zero is a text, such as a postal code. */
export function typedText(text: string): string | number | boolean {
  if (/^(?:true|false)$/.test(text)) return text === 'true'
  return /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,10})?$/.test(text) ? Number(text) : text
}

/** The schema of an example, with short values as examples. */
export function inferredSchema(value: unknown, key = '', depth = 0): JsonSchema {
  if (value === null || depth > MAX_DEPTH) return {}
  if (Array.isArray(value)) {
    const [first] = value
    return { type: 'array', ...(first !== undefined && { items: inferredSchema(first, key, depth + 1) }) }
  }
  if (typeof value === 'object') {
    const entries = Object.entries(value as object).slice(0, MAX_PARAMETERS)
    return {
      type: 'object',
      properties: Object.fromEntries(entries.map(([name, item]) => [name, inferredSchema(item, name, depth + 1)])),
    }
  }
  const type = typeof value === 'number' ? (Number.isInteger(value) ? 'integer' : 'number') : typeof value
  const text = String(value)
  const isShown = text !== '' && text.length <= MAX_EXAMPLE && !text.includes('${') && !isSecretText(key, text)
  return { type, ...(isShown && { examples: [value] }) }
}
