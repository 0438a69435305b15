import { posix } from 'node:path'

/** A document that cannot be imported at all; the message says why and what to do. */
export class OpenapiError extends Error {
  override readonly name: string = 'OpenapiError'
}

/** `include` names something that isn't in the document. */
export class NotInDocument extends OpenapiError {
  override readonly name = 'NotInDocument'
}

/** One operation, or a part of it, that cannot be mapped; the message is the reason, as a clause. */
export class Unmappable extends Error {
  override readonly name = 'Unmappable'
}

/** A value of the document, and the file it stands in: references in it start from there. */
export interface Raw {
  readonly value: unknown
  readonly file: string
}

/** An object of the document. Nothing in it is trusted. */
export type RawObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is RawObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The own property of that name, never an inherited one. */
export function own(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/** The own property if it is a non-empty string. */
export function ownText(value: unknown, key: string): string | undefined {
  const text = own(value, key)
  return typeof text === 'string' && text !== '' ? text : undefined
}

/** The own property if it is an object, else an empty object. */
export function ownObject(value: unknown, key: string): RawObject {
  const object = own(value, key)
  return isObject(object) ? object : {}
}

/** The own property if it is an array, else an empty array. */
export function ownList(value: unknown, key: string): readonly unknown[] {
  const list = own(value, key)
  return Array.isArray(list) ? list : []
}

/** A text of the document as part of a sentence of ours: on one line, and not too long. */
export function quoted(text: string): string {
  const line = text.replace(/[\p{C}\p{Z}]+/gu, ' ')
  return JSON.stringify(line.length > 120 ? `${line.slice(0, 119)}…` : line)
}

/** A file that the document refers to: what is in it, or why it could not be read. */
export type ReferencedFile = { readonly document: unknown } | { readonly problem: string }

/** The document itself. */
export const ROOT = ''

const MAX_HOPS = 64

/** The document and the files beside it, with the references between them. */
export class Documents {
  readonly #files: ReadonlyMap<string, ReferencedFile>
  readonly #targets = new Map<string, Raw>()

  constructor(document: unknown, files: ReadonlyMap<string, ReferencedFile> = new Map()) {
    this.#files = new Map([...files, [ROOT, { document }]])
  }

  /** Follows references to their final value, with the pointer of the last one. Throws `Unmappable`. */
  follow(from: Raw): Raw & { readonly pointer?: string } {
    let at: Raw & { readonly pointer?: string } = from
    const seen = new Set<string>()
    while (isObject(at.value) && typeof at.value.$ref === 'string' && Object.hasOwn(at.value, '$ref')) {
      const reference = at.value.$ref
      const pointer = `${at.file}|${reference}`
      if (seen.has(pointer) || seen.size > MAX_HOPS) throw new Unmappable(`$ref ${quoted(reference)} leads in a circle`)
      seen.add(pointer)
      at = { ...this.target(reference, at.file), pointer: reference }
    }
    return at
  }

  /** The target of a reference in a file. Throws `Unmappable`. */
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

/** The target of a JSON pointer, if any. */
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

/** The files beside the document that one of its files refers to, by their path from the folder of the document. */
export function referencedFiles(document: unknown, from: string): Set<string> {
  const found = new Set<string>()
  const seen = new Set<object>()
  const open: unknown[] = [document]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null || seen.has(value)) continue
    seen.add(value)
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner === 'object') open.push(inner)
      else if (key === '$ref' && typeof inner === 'string' && !inner.startsWith('#')) {
        const file = referencedFile(inner.split('#', 1)[0] ?? '', from)
        if (file !== undefined && file !== from) found.add(file)
      }
    }
  }
  return found
}
