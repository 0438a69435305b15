import { linearPattern } from '../core/schema/linear-pattern.ts'
import { type Documents, ROOT } from './documents.ts'
import { Unmappable } from './openapi-error.ts'
import { plainKeywords } from './plain-keywords.ts'
import { plainText } from './plain-text.ts'
import { isObject, own, quoted, type Raw, type RawObject } from './raw.ts'

const LONGEST_DESCRIPTION = 500
const LONGEST_DEFAULT = 60
const SMALL = 200
/** Keys that no caller may send: the executor refuses them. */
const REFUSED_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** The schemas under one keyword. */
export interface Step {
  readonly keyword: string
  readonly shape: 'one' | 'list' | 'map'
  /** Whether they judge parts of the value rather than the value itself. */
  readonly deeper: boolean
  readonly children: readonly (readonly [name: string, part: SchemaPart])[]
}

const STEPS: readonly (readonly [keyword: string, shape: Step['shape'], deeper: boolean])[] = [
  ['properties', 'map', true],
  ['patternProperties', 'map', true],
  ['additionalProperties', 'one', true],
  ['propertyNames', 'one', true],
  ['prefixItems', 'list', true],
  ['items', 'one', true],
  ['contains', 'one', true],
  ['allOf', 'list', false],
  ['anyOf', 'list', false],
  ['oneOf', 'list', false],
  ['not', 'one', false],
  ['if', 'one', false],
  ['then', 'one', false],
  ['else', 'one', false],
  ['dependentSchemas', 'map', false],
]

/** The schemas of a document, each read once and only when somebody looks. */
export class SchemaParts {
  readonly #documents: Documents
  /** Whether what stands beside a `$ref` counts: since OpenAPI 3.1. */
  readonly siblings: boolean
  readonly #parts = new WeakMap<object, SchemaPart>()

  constructor(documents: Documents, siblings: boolean) {
    this.#documents = documents
    this.siblings = siblings
  }

  /** The schema that stands there; one that allows everything where there is none. */
  of(raw: Raw): SchemaPart {
    if (typeof raw.value !== 'object' || raw.value === null) return new SchemaPart(this, raw)
    let part = this.#parts.get(raw.value)
    if (part === undefined) {
      part = new SchemaPart(this, raw)
      this.#parts.set(raw.value, part)
    }
    return part
  }

  /** One schema for a value that all of these judge. */
  all(raws: readonly Raw[]): SchemaPart {
    const [only, ...others] = raws
    if (only !== undefined && others.length === 0) return this.of(only)
    return this.of({ value: { allOf: raws.map(({ value }) => value) }, file: only?.file ?? ROOT })
  }

  /** What a reference in it leads to, with a name for that. Throws `Unmappable`. */
  target(raw: Raw): { readonly part: SchemaPart; readonly name: string } {
    const { pointer = '', ...found } = this.#documents.follow(raw)
    return { part: this.of(found), name: /(?<![^/#])([^/#]*)\/?$/.exec(pointer)?.[1] ?? '' }
  }
}

/** One schema of the document, in the terms of JSON Schema 2020-12. */
export class SchemaPart {
  readonly #parts: SchemaParts
  readonly raw: Raw
  readonly #lost = new Set<string>()
  #keywords: Readonly<Record<string, unknown>> | undefined
  #steps: readonly Step[] | undefined
  #target: { readonly part: SchemaPart; readonly name: string } | null | undefined
  #description: string | undefined
  #isSmall: boolean | undefined

  constructor(parts: SchemaParts, raw: Raw) {
    this.#parts = parts
    this.raw = raw
  }

  get #value(): RawObject {
    return isObject(this.raw.value) ? this.raw.value : {}
  }

  get #isReference(): boolean {
    return typeof own(this.#value, '$ref') === 'string'
  }

  /** The schema that this one refers to. */
  get reference(): SchemaPart | undefined {
    return this.#found?.part
  }

  /** What the reference calls it. */
  get referenceName(): string {
    return this.#found?.name ?? ''
  }

  get #found(): { readonly part: SchemaPart; readonly name: string } | undefined {
    if (this.#target === undefined) this.#target = this.#follow()
    return this.#target ?? undefined
  }

  #follow(): { readonly part: SchemaPart; readonly name: string } | null {
    if (!this.#isReference) return null
    try {
      return this.#parts.target(this.raw)
    } catch (error) {
      if (!(error instanceof Unmappable)) throw error
      this.#lost.add(`a schema, since ${error.message}`)
      return null
    }
  }

  /** The rules that hold no schemas. */
  get keywords(): Readonly<Record<string, unknown>> {
    this.#keywords ??= this.#readKeywords()
    return this.#keywords
  }

  #readKeywords(): Readonly<Record<string, unknown>> {
    if (this.raw.value === false) return { not: {} }
    if (this.#isReference && !this.#parts.siblings) return {}
    const keywords = plainKeywords(this.#value, (what) => this.#lost.add(what))
    const patterns = own(this.#value, 'patternProperties')
    // What a pattern allowed that is left out must not be forbidden now.
    if (isObject(patterns) && this.#unfitPatterns('patternProperties', patterns).size > 0) {
      delete keywords.additionalProperties
    }
    const required = keywords.required as string[] | undefined
    const hidden = required && this.#hiddenProperties()
    if (required === undefined || hidden === undefined || hidden.size === 0) return keywords
    const { required: _, ...rest } = keywords
    const left = required.filter((name) => !hidden.has(name))
    return left.length > 0 ? { ...rest, required: left } : rest
  }

  /** Whether null is allowed besides what the schema says without naming a type. */
  get isNullable(): boolean {
    const nullable = own(this.#value, 'nullable') === true || own(this.#value, 'x-nullable') === true
    return nullable && this.keywords.type === undefined && this.keywords.enum === undefined
  }

  /** One paragraph. */
  get description(): string {
    this.#description ??= plainText(own(this.#value, 'description'), LONGEST_DESCRIPTION)
    return this.#description
  }

  /** What the API takes where nothing is sent. */
  get default(): unknown {
    return own(this.#value, 'default') ?? own(this.reference?.raw.value, 'default')
  }

  /** The same for the description, where it is not there yet: in the schema it would be sent with every call. */
  get defaultText(): string {
    const value = own(this.#value, 'default')
    if (!['string', 'number', 'boolean'].includes(typeof value)) return ''
    const text = plainText(String(value), LONGEST_DEFAULT + 1)
    if (text === '' || text.length > LONGEST_DEFAULT) return ''
    return /default/i.test(this.description) && this.description.includes(text) ? '' : `Default: ${text}`
  }

  /** Whether it is shorter than a name for it would be worth. */
  get isSmall(): boolean {
    this.#isSmall ??=
      this.steps.length === 0 &&
      this.reference === undefined &&
      JSON.stringify(this.keywords).length + this.description.length <= SMALL
    return this.#isSmall
  }

  /** Whether only answers have it. */
  get isReadOnly(): boolean {
    return own(this.#value, 'readOnly') === true || own(this.reference?.raw.value, 'readOnly') === true
  }

  get steps(): readonly Step[] {
    this.#steps ??= this.#isReference && !this.#parts.siblings ? [] : this.#readSteps()
    return this.#steps
  }

  /** What is left out, so that more is allowed than the document says. */
  get lost(): ReadonlySet<string> {
    void this.keywords
    void this.steps
    void this.reference
    return this.#lost
  }

  #readSteps(): Step[] {
    return STEPS.flatMap(([keyword, shape, deeper]) => {
      const value = this.#under(keyword)
      const children = this.#children(keyword, shape, value)
      return children.length > 0 ? [{ keyword, shape, deeper, children }] : []
    })
  }

  /** A list of `items` is what older drafts call `prefixItems`. */
  #under(keyword: string): unknown {
    const value = own(this.#value, keyword)
    if (keyword === 'items') return Array.isArray(value) ? undefined : value
    if (keyword !== 'prefixItems' || Array.isArray(value)) return value
    const items = own(this.#value, 'items')
    return Array.isArray(items) ? items : undefined
  }

  #children(keyword: string, shape: Step['shape'], value: unknown): (readonly [string, SchemaPart])[] {
    const { file } = this.raw
    if (shape === 'one') {
      const isSchema = isObject(value) || (typeof value === 'boolean' && keyword !== 'additionalProperties')
      return isSchema ? [['', this.#parts.of({ value, file })]] : []
    }
    if (shape === 'list') {
      return Array.isArray(value) ? value.map((one) => ['', this.#parts.of({ value: one, file })] as const) : []
    }
    if (!isObject(value)) return []
    const hidden = keyword === 'properties' ? this.#hiddenProperties() : this.#unfitPatterns(keyword, value)
    return Object.keys(value).flatMap((name) =>
      hidden.has(name) ? [] : [[name, this.#parts.of({ value: value[name], file })] as const],
    )
  }

  /** Properties that no request has. */
  #hiddenProperties(): Set<string> {
    const { file } = this.raw
    const properties = own(this.#value, 'properties')
    const hidden = new Set<string>()
    for (const name of Object.keys(isObject(properties) ? properties : {})) {
      if (REFUSED_KEYS.has(name)) {
        hidden.add(name)
        this.#lost.add(`the property ${quoted(name)}, which no call may have`)
      } else if (this.#parts.of({ value: (properties as RawObject)[name], file }).isReadOnly) hidden.add(name)
    }
    return hidden
  }

  #unfitPatterns(keyword: string, value: RawObject): Set<string> {
    const unfit = new Set<string>()
    for (const name of Object.keys(value)) {
      if (keyword !== 'patternProperties' ? !REFUSED_KEYS.has(name) : linearPattern(name) !== undefined) continue
      unfit.add(name)
      this.#lost.add(`the pattern ${quoted(name)}, which cannot be matched in bounded time`)
    }
    return unfit
  }
}
