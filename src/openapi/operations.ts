import { quoted } from '../core/schema/problem-words.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import { suggest } from '../core/suggest.ts'
import type { ParameterStyle } from '../kinds/http/definition/http-implementation.ts'
import {
  type Documents,
  NotInDocument,
  own,
  ownList,
  ownObject,
  ownText,
  type Raw,
  type RawObject,
  ROOT,
  Unmappable,
} from './documents.ts'

/** One operation of the document, unresolved. */
export interface ApiOperation {
  /** In upper case. */
  readonly method: string
  readonly path: string
  /** The name in reports, such as `GET /users/{id}`. */
  readonly label: string
  readonly operation: Raw & { readonly value: RawObject }
  readonly pathItem: Raw & { readonly value: RawObject }
}

export interface ApiParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly required: boolean
  readonly schema: Raw
  readonly description?: string
  readonly deprecated?: boolean
  readonly example?: unknown
  /** Only if it isn't the default of its place. */
  readonly style?: ParameterStyle
  readonly explode?: boolean
  /** The media type, if the parameter is a text of that type. */
  readonly mediaType?: string
}

/** A body with all its media types. */
export interface ApiBody {
  readonly required: boolean
  readonly description?: string
  readonly content: readonly ApiContent[]
}

export interface ApiContent {
  readonly mediaType: string
  readonly schema?: Raw
  /** The encoding of form properties. */
  readonly encoding: RawObject
}

/** Adds a difference from the document to the report. */
export type TakeNote = (note: string) => void

/** Reads one version of the format. All methods throw `Unmappable`. */
export interface ApiReader {
  readonly parameters: (operation: ApiOperation, note: TakeNote) => ApiParameter[]
  readonly body: (operation: ApiOperation, note: TakeNote) => ApiBody | undefined
  /** The media types of successful responses; empty if not described. */
  readonly answers: (operation: ApiOperation, note: TakeNote) => string[]
  /** Absolute or relative server URLs with their variables replaced. */
  readonly servers: (operation: ApiOperation) => string[]
  /** By name, in the form of OpenAPI 3. */
  readonly securitySchemes: ReadonlyMap<string, RawObject>
}

/** The methods of a path item; tools can't send the last three. */
const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace', 'query']
const FIT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
const MAX_LABEL = 300

type RawPart = Raw & { readonly value: RawObject }

interface Listing {
  readonly operations: readonly ApiOperation[]
  readonly refused: readonly { readonly operation: string; readonly reason: string }[]
  readonly webhooks: readonly string[]
  readonly callbacks: readonly string[]
}

/** Finds all operations of a document. Unreadable ones are refused. */
export function listOperations(document: RawObject, documents: Documents): Listing {
  const operations: ApiOperation[] = []
  const refused: { operation: string; reason: string }[] = []
  const callbacks: string[] = []
  for (const [path, written] of Object.entries(ownObject(document, 'paths'))) {
    if (path.startsWith('x-')) continue
    const pathItem = read(written, path, documents)
    if (typeof pathItem === 'string') {
      refused.push({ operation: labelOf('*', path), reason: pathItem })
      continue
    }
    for (const [method, operation] of methodsOf(pathItem.value)) {
      const label = labelOf(method, path)
      const found = FIT.has(method)
        ? resolved({ value: operation, file: pathItem.file }, documents)
        : `tools cannot send ${method} requests`
      if (typeof found === 'string') refused.push({ operation: label, reason: found })
      else {
        operations.push({ method, path, label, operation: found, pathItem })
        for (const name of Object.keys(ownObject(found.value, 'callbacks'))) callbacks.push(`${label}: ${name}`)
      }
    }
  }
  const hooks = ['webhooks', 'x-webhooks'].flatMap((key) => Object.keys(ownObject(document, key)))
  return { operations, refused, webhooks: hooks, callbacks }
}

/** A path item, or the reason why it can't be read. */
function read(written: unknown, path: string, documents: Documents): RawPart | string {
  if (!path.startsWith('/')) return 'its path does not begin with /'
  const found = resolved({ value: written, file: ROOT }, documents)
  if (typeof found === 'string' || !isObject(written) || found.value === written) return found
  // Keys next to a reference override its target.
  const { $ref: _, ...beside } = written
  return { ...found, value: { ...found.value, ...beside } }
}

function resolved(raw: Raw, documents: Documents): RawPart | string {
  try {
    const { value, file } = documents.follow(raw)
    return isObject(value) ? { value, file } : 'it is not an object'
  } catch (error) {
    if (error instanceof Unmappable) return error.message
    throw error
  }
}

function methodsOf(pathItem: RawObject): [method: string, operation: unknown][] {
  const usual = METHODS.flatMap((method): [string, unknown][] => {
    const operation = own(pathItem, method)
    return operation === undefined ? [] : [[method.toUpperCase(), operation]]
  })
  return [...usual, ...Object.entries(ownObject(pathItem, 'additionalOperations'))]
}

function labelOf(method: string, path: string): string {
  const label = `${method} ${path}`.replace(/\p{C}+/gu, ' ')
  return label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL - 1)}…` : label
}

/** Finds operations by tag, path prefix, `METHOD /path`, operation id or tool name. */
export function selectOperations(
  operations: readonly ApiOperation[],
  names: ReadonlyMap<ApiOperation, string>,
  words: readonly string[],
): Set<ApiOperation> {
  const selected = new Set<ApiOperation>()
  for (const word of words) {
    const found = operations.filter((operation) => means(word, operation, names.get(operation)))
    if (found.length === 0) throw new NotInDocument(nothingFor(word, operations, names))
    for (const operation of found) selected.add(operation)
  }
  return selected
}

function means(word: string, { method, path, label, operation }: ApiOperation, name: string | undefined): boolean {
  if (word.startsWith('/')) return path === word || path.startsWith(word.endsWith('/') ? word : `${word}/`)
  const meant = [name, label, `${method} ${path}`, ownText(operation.value, 'operationId')]
  if (meant.includes(word)) return true
  return ownList(operation.value, 'tags').some(
    (tag) => typeof tag === 'string' && tag.toLowerCase() === word.toLowerCase(),
  )
}

function nothingFor(
  word: string,
  operations: readonly ApiOperation[],
  names: ReadonlyMap<ApiOperation, string>,
): string {
  const known = new Set<string>(names.values())
  for (const { path, operation } of operations) {
    known.add(path)
    for (const tag of ownList(operation.value, 'tags')) if (typeof tag === 'string') known.add(tag)
  }
  const near = suggest(word, known)
  const hint =
    near.length > 0
      ? `did you mean ${near.map((one) => `'${one}'`).join(', ')}?`
      : 'write a tag, a path or an operation id.'
  return `No operation has the tag, path or id '${word}': ${hint}`
}

const MAX_PARAMETERS = 1_000

/** The parameters of an operation and its path; those of the operation win. */
export function mergedParameters(
  { operation, pathItem }: ApiOperation,
  documents: Documents,
): (Raw & { readonly value: RawObject })[] {
  const count = ownList(pathItem.value, 'parameters').length + ownList(operation.value, 'parameters').length
  if (count > MAX_PARAMETERS) throw new Unmappable(`it has ${count} parameters, more than a tool can have`)
  const merged = new Map<string, Raw & { readonly value: RawObject }>()
  for (const { value: holder, file } of [pathItem, operation]) {
    for (const one of ownList(holder, 'parameters')) {
      const { value, file: found } = documents.follow({ value: one, file })
      if (!isObject(value)) throw new Unmappable('one of its parameters is not an object')
      const name = ownText(value, 'name')
      const place = ownText(value, 'in')
      if (name === undefined) throw new Unmappable('one of its parameters has no name')
      if (place === undefined)
        throw new Unmappable(`its parameter ${quoted(name)} does not say where it is sent ("in")`)
      merged.set(`${place} ${place === 'header' ? name.toLowerCase() : name}`, { value, file: found })
    }
  }
  return [...merged.values()]
}

/** Headers that OpenAPI tells clients to ignore as parameters. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization'])

export function isIgnored(place: string, name: string): boolean {
  return place === 'header' && OWN_HEADERS.has(name.toLowerCase())
}
