import type { ApiOperation } from './api-operation.ts'
import { type Documents, ROOT } from './documents.ts'
import { Unmappable } from './openapi-error.ts'
import { isObject, own, ownObject, type Raw, type RawObject } from './raw.ts'

/** What a path item may hold; the last are for others than tools. */
const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace', 'query']
const FIT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
const LONGEST_LABEL = 300

type RawPart = Raw & { readonly value: RawObject }

/** Everything in the document that is asked, or asks. */
export interface Listing {
  readonly operations: readonly ApiOperation[]
  readonly refused: readonly { readonly operation: string; readonly reason: string }[]
  readonly webhooks: readonly string[]
  readonly callbacks: readonly string[]
}

/** Finds every operation of a document. One that cannot be read is refused, and stops no other. */
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

/** A path item; a reason where there is none. */
function read(written: unknown, path: string, documents: Documents): RawPart | string {
  if (!path.startsWith('/')) return 'its path does not begin with /'
  const found = resolved({ value: written, file: ROOT }, documents)
  if (typeof found === 'string' || !isObject(written) || found.value === written) return found
  // What stands beside a reference goes before.
  const { $ref: _, ...beside } = written
  return { ...found, value: { ...found.value, ...beside } }
}

/** What a value is in the end; a reason where it is no object. */
function resolved(raw: Raw, documents: Documents): RawPart | string {
  try {
    const { value, file } = documents.follow(raw)
    return isObject(value) ? { value, file } : 'what stands there is no object'
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
  return label.length > LONGEST_LABEL ? `${label.slice(0, LONGEST_LABEL - 1)}…` : label
}
