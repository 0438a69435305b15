import { posix } from 'node:path'
import { parseDocument as parseYaml } from 'yaml'
import { depthProblem, parseJson, RefusedJsonError } from '../core/json/json-depth.ts'
import { quoted } from '../core/schema/problem-words.ts'
import { isObject } from '../core/schema/schema-keywords.ts'

export const DOCUMENT_BYTES = 64 * 1024 * 1024
/** Reading YAML takes 60 times its length in memory. */
const YAML_CHARACTERS = 16 * 1024 * 1024
/** Invalid JSON may still be YAML in flow style, but such documents are short. */
const DOUBTFUL_CHARACTERS = 1024 * 1024
/** Limit for repetitions by aliases. */
const MAX_ALIASES = 5_000

/** Parses JSON or YAML. Throws `OpenapiError` with `name` in the message. */
export function parseDocument(written: string, name: string): unknown {
  const text = written.replace(/^\uFEFF/, '')
  const start = text.trimStart().slice(0, 1)
  if (start === '') throw new OpenapiError(`${name} is empty.`)
  if (start === '<') throw new OpenapiError(`${name} is a page or XML, not an OpenAPI document in JSON or YAML.`)
  if (start !== '{' && start !== '[') return fromYaml(text, name)
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof RefusedJsonError) throw new OpenapiError(`${name} ${error.message}: flatten it.`)
    const asYaml = text.length <= DOUBTFUL_CHARACTERS ? attempt(() => fromYaml(text, name)) : undefined
    if (asYaml !== undefined) return asYaml
    throw new OpenapiError(`${name} is not valid JSON: ${error instanceof Error ? error.message : error}.`)
  }
}

function attempt(read: () => unknown): unknown {
  try {
    return read()
  } catch {
    return undefined
  }
}

function fromYaml(text: string, name: string): unknown {
  if (text.length > YAML_CHARACTERS) {
    throw new OpenapiError(
      `${name} is YAML of ${megabytes(text.length)} MB, and at most ${megabytes(YAML_CHARACTERS)} MB are read: convert it to JSON.`,
    )
  }
  let problem: string | undefined
  try {
    // Checking for duplicate keys takes quadratic time.
    const document = parseYaml(text, { uniqueKeys: false, prettyErrors: false, logLevel: 'silent', merge: true })
    const [fault] = document.errors
    problem = fault?.code === 'RESOURCE_EXHAUSTION' ? TOO_DEEP : fault?.message
    const value = problem === undefined ? document.toJS({ maxAliasCount: MAX_ALIASES }) : undefined
    problem ??= depthProblem(value) && `${TOO_DEEP}, or an alias contains itself`
    if (problem === undefined) return value
  } catch (error) {
    // Too many aliases, or too deep for the stack.
    problem = error instanceof RangeError ? TOO_DEEP : error instanceof Error ? error.message : String(error)
  }
  throw new OpenapiError(`${name} is neither valid JSON nor YAML: ${problem}.`)
}

const TOO_DEEP = 'it is nested too deep'

const megabytes = (characters: number): number => Math.round(characters / 1024 / 1024)

/** A document that can't be imported; the message says what to do. */
export class OpenapiError extends Error {
  override readonly name: string = 'OpenapiError'
}

/** `include` names something that isn't in the document. */
export class NotInDocument extends OpenapiError {
  override readonly name = 'NotInDocument'
}

/** An operation that can't be mapped; the message is the reason, as a clause. */
export class Unmappable extends Error {
  override readonly name = 'Unmappable'
}

/** A value of the document and its file, which references are relative to. */
export interface Raw {
  readonly value: unknown
  readonly file: string
}

/** Untrusted. */
export type RawObject = Readonly<Record<string, unknown>>

/** Ignores inherited properties. */
export function own(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

export function ownText(value: unknown, key: string): string | undefined {
  const text = own(value, key)
  return typeof text === 'string' && text !== '' ? text : undefined
}

export function ownObject(value: unknown, key: string): RawObject {
  const object = own(value, key)
  return isObject(object) ? object : {}
}

export function ownList(value: unknown, key: string): readonly unknown[] {
  const list = own(value, key)
  return Array.isArray(list) ? list : []
}

/** The content of a referenced file, or why it could not be read. */
export type ReferencedFile = { readonly document: unknown } | { readonly problem: string }

export const ROOT = ''

const MAX_HOPS = 64

/** The document and its referenced files. */
export class Documents {
  readonly #files: ReadonlyMap<string, ReferencedFile>
  readonly #targets = new Map<string, Raw>()

  constructor(document: unknown, files: ReadonlyMap<string, ReferencedFile> = new Map()) {
    this.#files = new Map([...files, [ROOT, { document }]])
  }

  /** Follows references to the final value, with the last pointer. Throws `Unmappable`. */
  follow(from: Raw): Raw & { readonly pointer?: string } {
    let at: Raw & { readonly pointer?: string } = from
    const seen = new Set<string>()
    while (isObject(at.value) && typeof at.value.$ref === 'string' && Object.hasOwn(at.value, '$ref')) {
      const reference = at.value.$ref
      const pointer = `${at.file}|${reference}`
      if (seen.has(pointer) || seen.size > MAX_HOPS) throw new Unmappable(`$ref ${quoted(reference)} is circular`)
      seen.add(pointer)
      at = { ...this.target(reference, at.file), pointer: reference }
    }
    return at
  }

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
      throw new Unmappable(`$ref ${quoted(reference)} is remote: only files next to the document are read`)
    const entry = this.#files.get(file)
    if (entry === undefined) throw new Unmappable(`$ref ${quoted(reference)} is in a file that was not read`)
    if ('problem' in entry) throw new Unmappable(`$ref ${quoted(reference)}: ${entry.problem}`)
    const value = pointed(entry.document, cut < 0 ? '' : decoded(reference.slice(cut + 1)))
    if (value === undefined) throw new Unmappable(`$ref ${quoted(reference)} does not exist`)
    return { value, file }
  }
}

/**
 * The path of a referenced file, relative to the document's folder; undefined if it is remote or outside that folder.
 */
export function referencedFile(address: string, from: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:|^[/\\]/i.test(address) || address.includes('\0')) return undefined
  const path = posix.join(posix.dirname(from), decoded(address).replaceAll('\\', '/'))
  return path.startsWith('../') || path === '..' || path.startsWith('/') ? undefined : path
}

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

/** The files that a file refers to, relative to the document's folder. */
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
