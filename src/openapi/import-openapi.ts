import type { ToolDefinition } from '../core/tool.ts'
import { buildTool } from './build-tool.ts'
import {
  Documents,
  isObject,
  OpenapiError,
  own,
  ownObject,
  quoted,
  type RawObject,
  type ReferencedFile,
  Unmappable,
} from './documents.ts'
import { VariableNames } from './map-security.ts'
import { listOperations, selectOperations } from './operations.ts'
import { plainText } from './plain-text.ts'
import { readerThree, readerTwo } from './readers.ts'
import { SchemaParts } from './schema-part.ts'
import { toolNames } from './tool-names.ts'

/** How a document is imported. */
export interface ImportOptions {
  /** Only operations with one of these tags, paths, operation ids or names; all by default. */
  readonly include?: readonly string[]
  /** The prefix of every tool name. */
  readonly prefix?: string
  /** Takes the place of the document's servers; relative ones start from it. */
  readonly baseUrl?: string
  /** The URL that the document was fetched from; relative servers are resolved against it. */
  readonly documentUrl?: string
  /** The files that the document refers to, by their path from its folder. */
  readonly files?: ReadonlyMap<string, ReferencedFile>
  /** Told now and then how many of the operations are done. */
  readonly onProgress?: (done: number, all: number) => void
}

/** The result of an import. Every operation is mapped, refused or excluded. */
export interface ImportReport {
  readonly title: string
  /** Operations in the document. */
  readonly found: number
  /** Operations that are tools now. */
  readonly mapped: number
  /** Operations that `include` left out. */
  readonly excluded: number
  readonly refused: readonly { readonly operation: string; readonly reason: string }[]
  /** Differences between the tools and the document. */
  readonly notes: readonly { readonly operation: string; readonly note: string }[]
  /** Whether the document has security schemes. */
  readonly secured: boolean
  /** The environment variables that the tools need. */
  readonly variables: readonly string[]
  /** Requests that the API sends: they don't become tools. */
  readonly webhooks: readonly string[]
  readonly callbacks: readonly string[]
  /** Sorted by name. */
  readonly definitions: readonly ToolDefinition[]
}

const PROGRESS_EVERY = 250

/**
 * Turns every operation of a document (OpenAPI 3.0 or 3.1, Swagger 2) into the definition of an HTTP tool, and says what
 * became of each. Throws `OpenapiError` where the document is none.
 */
export function importOpenapi(document: unknown, options: ImportOptions = {}): ImportReport {
  const version = versionOf(document)
  const root = document as RawObject
  const { include = [], prefix = '', files, onProgress } = options
  const title = plainText(own(ownObject(root, 'info'), 'title'), 200)
  const documents = new Documents(root, files)
  const reader = version === '2' ? readerTwo(root, documents) : readerThree(root, documents)
  const context = {
    ...options,
    document: root,
    documents,
    reader,
    parts: new SchemaParts(documents, version === '3.1'),
    variables: new VariableNames(prefix, title, reader.securitySchemes),
  }
  const listing = listOperations(root, documents)
  const names = toolNames(listing.operations, prefix)
  const selected =
    include.length > 0 ? selectOperations(listing.operations, names, include) : new Set(listing.operations)

  const definitions: ToolDefinition[] = []
  const refused = include.length > 0 ? [] : [...listing.refused]
  const notes: { operation: string; note: string }[] = []
  let done = 0
  for (const operation of selected) {
    const own = new Set<string>()
    const tool = attempt(() => buildTool(operation, names.get(operation) ?? '', context, (note) => own.add(note)))
    if ('reason' in tool) refused.push({ operation: operation.label, reason: tool.reason })
    else {
      definitions.push(tool.definition)
      for (const note of own) notes.push({ operation: operation.label, note })
    }
    if (++done % PROGRESS_EVERY === 0) onProgress?.(done, selected.size)
  }
  const found = listing.operations.length + listing.refused.length
  return {
    title,
    found,
    mapped: definitions.length,
    excluded: found - definitions.length - refused.length,
    refused,
    notes,
    secured: reader.securitySchemes.size > 0,
    variables: variablesIn(definitions),
    webhooks: listing.webhooks,
    callbacks: listing.callbacks,
    definitions: definitions.sort((one, other) => (one.name < other.name ? -1 : 1)),
  }
}

/** One operation that cannot be read, for whatever reason, stops no other. */
function attempt(build: () => ToolDefinition): { readonly definition: ToolDefinition } | { readonly reason: string } {
  try {
    return { definition: build() }
  } catch (error) {
    if (error instanceof Unmappable) return { reason: error.message }
    return { reason: `it cannot be read (${error instanceof Error ? error.name : 'unknown reason'})` }
  }
}

/** Which version's rules hold. */
function versionOf(document: unknown): '2' | '3.0' | '3.1' {
  if (!isObject(document)) throw new OpenapiError('The document is no object: it is no OpenAPI document.')
  const [openapi, swagger] = [own(document, 'openapi'), own(document, 'swagger')]
  if (/^2(?:\.0)?$/.test(String(swagger))) return '2'
  if (/^3\.0(?:\.|$)|^3$/.test(String(openapi))) return '3.0'
  if (/^3\.\d/.test(String(openapi))) return '3.1'
  const named = openapi ?? swagger
  if (named === undefined) {
    throw new OpenapiError(
      'The document is no OpenAPI document: it has neither "openapi" nor "swagger" with a version.',
    )
  }
  throw new OpenapiError(`The document is of version ${quoted(String(named))}: OpenAPI 3 and Swagger 2.0 are known.`)
}

/** Every `${NAME}` that the definitions have. */
function variablesIn(definitions: readonly ToolDefinition[]): string[] {
  const names = new Set<string>()
  for (const { implementation } of definitions) {
    const { headers, query, auth } = implementation
    for (const [, name = ''] of JSON.stringify([headers, query, auth]).matchAll(/\$\{(\w+)\}/g)) names.add(name)
  }
  return [...names].sort()
}
