import { posix } from 'node:path'
import { Unmappable } from './openapi-error.ts'
import { isObject, quoted, type Raw } from './raw.ts'

/** A file that the document refers to: what is in it, or why it could not be read. */
export type ReferencedFile = { readonly document: unknown } | { readonly problem: string }

/** The document itself. */
export const ROOT = ''

const MOST_HOPS = 64

/** The document and the files beside it, with the references between them. */
export class Documents {
  readonly #files: ReadonlyMap<string, ReferencedFile>
  readonly #targets = new Map<string, Raw>()

  constructor(document: unknown, files: ReadonlyMap<string, ReferencedFile> = new Map()) {
    this.#files = new Map([...files, [ROOT, { document }]])
  }

  /** What a value is in the end, and the pointer of the last reference on the way. Throws `Unmappable`. */
  follow(from: Raw): Raw & { readonly pointer?: string } {
    let at: Raw & { readonly pointer?: string } = from
    const seen = new Set<string>()
    while (isObject(at.value) && typeof at.value.$ref === 'string' && Object.hasOwn(at.value, '$ref')) {
      const reference = at.value.$ref
      const pointer = `${at.file}|${reference}`
      if (seen.has(pointer) || seen.size > MOST_HOPS)
        throw new Unmappable(`$ref ${quoted(reference)} leads in a circle`)
      seen.add(pointer)
      at = { ...this.target(reference, at.file), pointer: reference }
    }
    return at
  }

  /** What a reference in a file leads to. Throws `Unmappable`. */
  target(reference: string, from: string): Raw {
    const key = `${from}|${reference}`
    const known = this.#targets.get(key)
    if (known !== undefined) return known
    const found = this.#find(reference, from)
    this.#targets.set(key, found)
    return found
  }

  #find(reference: string, from: string): Raw {
    const cut = reference.indexOf('#')
    const address = cut < 0 ? reference : reference.slice(0, cut)
    const file = address === '' ? from : referencedFile(address, from)
    if (file === undefined)
      throw new Unmappable(`$ref ${quoted(reference)} is remote: only files beside the document are read`)
    const entry = this.#files.get(file)
    if (entry === undefined) throw new Unmappable(`$ref ${quoted(reference)} leads to a file that was not read`)
    if ('problem' in entry) throw new Unmappable(`$ref ${quoted(reference)}: ${entry.problem}`)
    const value = pointed(entry.document, cut < 0 ? '' : decoded(reference.slice(cut + 1)))
    if (value === undefined) throw new Unmappable(`$ref ${quoted(reference)} leads nowhere`)
    return { value, file }
  }
}

/**
 * The file that a reference in another file means, as its path from the folder of the document; undefined where it is
 * on the web, or outside that folder.
 */
export function referencedFile(address: string, from: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:|^[/\\]/i.test(address) || address.includes('\0')) return undefined
  const path = posix.join(posix.dirname(from), decoded(address).replaceAll('\\', '/'))
  return path.startsWith('../') || path === '..' || path.startsWith('/') ? undefined : path
}

/** What a JSON pointer leads to; undefined where there is nothing, or where it is no pointer. */
function pointed(document: unknown, pointer: string): unknown {
  if (pointer === '') return document
  if (!pointer.startsWith('/')) return undefined
  let value = document
  for (const token of pointer.slice(1).split('/')) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
