import type { ApiOperation } from './api-operation.ts'
import type { Documents } from './documents.ts'
import { Unmappable } from './openapi-error.ts'
import { isObject, ownList, ownText, quoted, type Raw, type RawObject } from './raw.ts'

const MOST = 1_000

/** The parameters of an operation as they are written, those of its path among them; its own go before. */
export function mergedParameters(
  { operation, pathItem }: ApiOperation,
  documents: Documents,
): (Raw & { readonly value: RawObject })[] {
  const count = ownList(pathItem.value, 'parameters').length + ownList(operation.value, 'parameters').length
  if (count > MOST) throw new Unmappable(`it has ${count} parameters, more than a tool can have`)
  const merged = new Map<string, Raw & { readonly value: RawObject }>()
  for (const { value: holder, file } of [pathItem, operation]) {
    for (const one of ownList(holder, 'parameters')) {
      const { value, file: found } = documents.follow({ value: one, file })
      if (!isObject(value)) throw new Unmappable('one of its parameters is no object')
      const name = ownText(value, 'name')
      const place = ownText(value, 'in')
      if (name === undefined) throw new Unmappable('one of its parameters has no name')
      if (place === undefined) throw new Unmappable(`its parameter ${quoted(name)} does not say where it goes ("in")`)
      merged.set(`${place} ${place === 'header' ? name.toLowerCase() : name}`, { value, file: found })
    }
  }
  return [...merged.values()]
}

/** Headers that are the client's own business: parameters of that name mean nothing. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization'])

/** Whether the format says that a parameter is to be ignored. */
export function isIgnored(place: string, name: string): boolean {
  return place === 'header' && OWN_HEADERS.has(name.toLowerCase())
}
