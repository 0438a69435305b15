import { APPLICATORS, isObject, schemasUnder, type Values } from './schema-keywords.ts'

/** Identifies a RefusedSchemaError from another process. */
export const REFUSED = 'REFUSED_SCHEMA'

/** A schema that can't be used. The message completes a sentence about the schema. */
export class RefusedSchemaError extends Error {
  override readonly name = 'RefusedSchemaError'
  readonly code = REFUSED
}

/** Other documents that a schema may refer to, by address. */
export type Documents = ReadonlyMap<string, unknown>

/** The base URI of schemas without `$id`. It is never requested. */
const NOWHERE = 'https://schema.invalid/'

/** Resolves the references of a schema without loading anything. */
export class SchemaReferences {
  readonly root: unknown
  readonly #roots = new Map<string, unknown>()
  readonly #anchors = new Map<string, unknown>()
  readonly #dynamic = new Map<string, unknown>()
  readonly #bases = new Map<unknown, string>()
  readonly #documents: Documents
  /** Referenced values that are not under a schema keyword. */
  readonly strays: unknown[] = []

  constructor(schema: unknown, documents: Documents = new Map()) {
    this.root = schema
    this.#documents = documents
    this.#roots.set(NOWHERE, schema)
    this.#index(schema, NOWHERE)
  }

  baseOf(schema: unknown): string {
    return this.#bases.get(schema) ?? NOWHERE
  }

  /** Resolves a `$ref` in `from`; undefined if there is no target. */
  target(from: unknown, reference: unknown): unknown {
    if (typeof reference !== 'string') return undefined
    const base = this.baseOf(from)
    const cut = reference.indexOf('#')
    const address = cut === 0 ? base : absolute(cut < 0 ? reference : reference.slice(0, cut), base)
    if (address === undefined) return undefined
    if (!this.#roots.has(address)) this.#adopt(address)
    const fragment = cut < 0 ? '' : decoded(reference.slice(cut + 1))
    if (fragment === '') return this.#roots.get(address)
    return fragment.startsWith('/') ? this.#at(address, fragment) : this.#anchors.get(`${address}#${fragment}`)
  }

  /** Resolves a `$dynamicRef`; `scope` has the base URIs so far, outermost first. */
  dynamicTarget(from: unknown, reference: unknown, scope: readonly string[]): unknown {
    const target = this.target(from, reference)
    const name = typeof reference === 'string' ? reference.slice(reference.indexOf('#') + 1) : ''
    if (!isObject(target) || target.$dynamicAnchor !== name) return target
    for (const base of scope) {
      const dynamic = this.#dynamic.get(`${base}#${name}`)
      if (dynamic !== undefined) return dynamic
    }
    return target
  }

  /** Everything that a `$dynamicRef` may lead to, in whatever scope. */
  dynamicTargets(from: unknown, reference: string): readonly unknown[] {
    const target = this.target(from, reference)
    const name = reference.slice(reference.indexOf('#') + 1)
    if (!isObject(target) || target.$dynamicAnchor !== name) return [target]
    return [...this.#dynamic.values()].filter((anchored) => (anchored as Values).$dynamicAnchor === name)
  }

  #adopt(address: string): void {
    const document = this.#documents.get(address)
    if (document === undefined) return
    this.#roots.set(address, document)
    this.#index(document, address)
  }

  #at(address: string, pointer: string): unknown {
    let value = this.#roots.get(address)
    let base = address
    for (const token of pointer.slice(1).split('/')) {
      const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
      base = this.#bases.get(value) ?? base
      value = (value as Record<string, unknown>)[key]
    }
    // Values under unknown keywords are not indexed yet.
    if (isObject(value) && !this.#bases.has(value)) {
      this.strays.push(value)
      this.#index(value, base)
    }
    return value
  }

  #index(schema: unknown, outer: string): void {
    if (!isObject(schema) || this.#bases.has(schema)) return
    const base = typeof schema.$id === 'string' ? this.#name(schema, schema.$id, outer) : outer
    this.#bases.set(schema, base)
    if (typeof schema.$anchor === 'string') this.#anchors.set(`${base}#${schema.$anchor}`, schema)
    if (typeof schema.$dynamicAnchor === 'string') {
      this.#anchors.set(`${base}#${schema.$dynamicAnchor}`, schema)
      this.#dynamic.set(`${base}#${schema.$dynamicAnchor}`, schema)
    }
    for (const key of Object.keys(schema)) {
      const applicator = APPLICATORS.get(key)
      if (applicator === undefined) continue
      for (const [inner] of schemasUnder(applicator.shape, schema[key])) this.#index(inner, base)
    }
  }

  /** Draft-07 has anchors of the form `$id: "#name"`. */
  #name(schema: object, id: string, outer: string): string {
    if (id.startsWith('#')) {
      this.#anchors.set(`${outer}${id}`, schema)
      return outer
    }
    const address = absolute(id.split('#', 1)[0] as string, outer)
    if (address === undefined) return outer
    this.#roots.set(address, schema)
    return address
  }
}

function absolute(reference: string, base: string): string | undefined {
  const address = URL.parse(reference, base)
  return address === null ? undefined : address.href.split('#', 1)[0]
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
