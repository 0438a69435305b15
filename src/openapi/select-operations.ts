import { suggest } from '../core/suggest.ts'
import type { ApiOperation } from './api-operation.ts'
import { NotInDocument } from './openapi-error.ts'
import { ownList, ownText } from './raw.ts'

/** The operations that any of the words means: a tag, a path and all below it, `METHOD /path`, an id or a name. */
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
      : 'write a tag, a path, or the id of an operation.'
  return `No operation has the tag, path or id '${word}': ${hint}`
}
