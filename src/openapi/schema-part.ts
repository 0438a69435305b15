import { foreignText } from '../core/json/json-depth.ts'
import { FORMATS } from '../core/schema/formats.ts'
import { linearPattern } from '../core/schema/linear-pattern.ts'
import { quoted } from '../core/schema/problem-words.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import { type Documents, own, type Raw, type RawObject, ROOT, Unmappable } from './documents.ts'
import { plainText } from './plain-text.ts'

const MAX_DESCRIPTION = 500
const MAX_DEFAULT = 60
const SMALL = 200

/** The schemas under one keyword. */
export interface Step {
  readonly keyword: string
  readonly shape: 'one' | 'list' | 'map'
  /** Whether they apply to parts of the value. */
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

/** The schemas of a document, read lazily and once. */
export class SchemaParts {
  readonly #documents: Documents
  /** Whether keywords next to a `$ref` apply, as in OpenAPI 3.1. */
  readonly siblings: boolean
  readonly #parts = new WeakMap<object, SchemaPart>()

  constructor(documents: Documents, siblings: boolean) {
    this.#documents = documents
    this.siblings = siblings
  }

  /** Returns a schema that allows everything if there is none. */
  of(raw: Raw): SchemaPart {
    if (typeof raw.value !== 'object' || raw.value === null) return new SchemaPart(this, raw)
    let part = this.#parts.get(raw.value)
    if (part === undefined) {
      part = new SchemaPart(this, raw)
      this.#parts.set(raw.value, part)
    }
    return part
  }

  /** Combines schemas with `allOf`. */
  all(raws: readonly Raw[]): SchemaPart {
    const [only, ...others] = raws
    if (only !== undefined && others.length === 0) return this.of(only)
    return this.of({ value: { allOf: raws.map(({ value }) => value) }, file: only?.file ?? ROOT })
  }

  /** Resolves its reference. Throws `Unmappable`. */
  target(raw: Raw): { readonly part: SchemaPart; readonly name: string } {
    const { pointer = '', ...found } = this.#documents.follow(raw)
    return { part: this.of(found), name: /(?<![^/#])([^/#]*)\/?$/.exec(pointer)?.[1] ?? '' }
  }
}

/** One schema of the document, as JSON Schema 2020-12. */
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

  get reference(): SchemaPart | undefined {
    return this.#found?.part
  }

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

  /** The keywords without subschemas. */
  get keywords(): Readonly<Record<string, unknown>> {
    this.#keywords ??= this.#readKeywords()
    return this.#keywords
  }

  #readKeywords(): Readonly<Record<string, unknown>> {
    if (this.raw.value === false) return { not: {} }
    if (this.#isReference && !this.#parts.siblings) return {}
    const keywords = plainKeywords(this.#value, (what) => this.#lost.add(what))
    const patterns = own(this.#value, 'patternProperties')
    // Properties that a dropped pattern allowed must stay allowed.
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

  /** Whether null must be added with `anyOf`. */
  get isNullable(): boolean {
    const nullable = own(this.#value, 'nullable') === true || own(this.#value, 'x-nullable') === true
    return nullable && this.keywords.type === undefined && this.keywords.enum === undefined
  }

  get description(): string {
    this.#description ??= plainText(own(this.#value, 'description'), MAX_DESCRIPTION)
    return this.#description
  }

  get default(): unknown {
    return own(this.#value, 'default') ?? own(this.reference?.raw.value, 'default')
  }

  /** The default, for the description: as a keyword it would be sent with every call. */
  get defaultText(): string {
    const value = own(this.#value, 'default')
    if (!['string', 'number', 'boolean'].includes(typeof value)) return ''
    const text = plainText(foreignText(value), MAX_DEFAULT + 1)
    if (text === '' || text.length > MAX_DEFAULT) return ''
    return /default/i.test(this.description) && this.description.includes(text) ? '' : `Default: ${text}`
  }

  /** Whether it is too short to be worth a definition. */
  get isSmall(): boolean {
    this.#isSmall ??=
      this.steps.length === 0 &&
      this.reference === undefined &&
      JSON.stringify(this.keywords).length + this.description.length <= SMALL
    return this.#isSmall
  }

  /** Whether only responses contain it. */
  get isReadOnly(): boolean {
    return own(this.#value, 'readOnly') === true || own(this.reference?.raw.value, 'readOnly') === true
  }

  get steps(): readonly Step[] {
    this.#steps ??= this.#isReference && !this.#parts.siblings ? [] : this.#readSteps()
    return this.#steps
  }

  /** Rules that were dropped, so the schema allows more than the document. */
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

  /** Older drafts write `prefixItems` as a list of `items`. */
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

  #hiddenProperties(): Set<string> {
    const { file } = this.raw
    const properties = own(this.#value, 'properties')
    const hidden = new Set<string>()
    for (const name of Object.keys(isObject(properties) ? properties : {})) {
      if (this.#parts.of({ value: (properties as RawObject)[name], file }).isReadOnly) hidden.add(name)
    }
    return hidden
  }

  #unfitPatterns(keyword: string, value: RawObject): Set<string> {
    const unfit = new Set<string>()
    for (const name of Object.keys(value)) {
      if (keyword !== 'patternProperties' || linearPattern(name) !== undefined) continue
      unfit.add(name)
      this.#lost.add(`the pattern ${quoted(name)}, which cannot be matched in bounded time`)
    }
    return unfit
  }
}

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const COUNTS = [
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minContains',
  'maxContains',
]
/** Keywords that depend on other schemas. */
const NOT_CARRIED_OVER = ['$dynamicRef', 'unevaluatedProperties', 'unevaluatedItems', 'additionalItems']
const MAX_EXAMPLE = 80

type Keywords = Record<string, unknown>

/** Converts keywords without subschemas to valid JSON Schema 2020-12. Calls `lost` for dropped rules. */
function plainKeywords(value: RawObject, lost: (what: string) => void): Keywords {
  const keywords: Keywords = {}
  const nullable = own(value, 'nullable') === true || own(value, 'x-nullable') === true
  const choices = choicesOf(value, lost)
  const types = typesOf(value, nullable, lost)
  if (types.length > 0 && (choices === undefined || choices.some((one) => fits(one, types)))) {
    keywords.type = types.length === 1 ? types[0] : types
  } else if (types.length > 0) lost(`the type ${quoted(types.join(', '))}, which none of the allowed values has`)
  if (choices !== undefined) keywords.enum = nullable && !choices.includes(null) ? [...choices, null] : choices
  if (Object.hasOwn(value, 'const')) keywords.const = value.const
  texts(value, keywords, lost)
  numbers(value, keywords, lost)
  const required = own(value, 'required')
  if (Array.isArray(required)) {
    const names = new Set(required.filter((name) => typeof name === 'string'))
    if (names.size > 0) keywords.required = [...names]
  }
  if (typeof value.additionalProperties === 'boolean') keywords.additionalProperties = value.additionalProperties
  const dependent = own(value, 'dependentRequired')
  if (isObject(dependent) && Object.values(dependent).every(isNames)) keywords.dependentRequired = dependent
  if (own(value, 'deprecated') === true) keywords.deprecated = true
  for (const rule of NOT_CARRIED_OVER)
    if (Object.hasOwn(value, rule)) lost(`the rule ${quoted(rule)}, which tools do not have`)
  const examples = examplesOf(value)
  if (examples !== undefined) keywords.examples = examples
  return keywords
}

function typesOf(value: RawObject, nullable: boolean, lost: (what: string) => void): unknown[] {
  const written = [own(value, 'type') ?? []].flat()
  const known = written.filter((type) => TYPES.has(type))
  if (known.length < written.length) lost(`the type ${quoted(written.join(', '))}, which JSON Schema does not have`)
  return known.length > 0 && nullable ? [...new Set([...known, 'null'])] : [...new Set(known)]
}

function choicesOf(value: RawObject, lost: (what: string) => void): unknown[] | undefined {
  const choices = own(value, 'enum')
  if (choices === undefined) return undefined
  if (Array.isArray(choices) && choices.length > 0) return choices
  lost('an enum without values')
  return undefined
}

function fits(value: unknown, types: readonly unknown[]): boolean {
  if (value === null) return types.includes('null')
  if (typeof value === 'number')
    return types.includes('number') || (Number.isInteger(value) && types.includes('integer'))
  return types.includes(Array.isArray(value) ? 'array' : typeof value)
}

function texts(value: RawObject, keywords: Keywords, lost: (what: string) => void): void {
  const { format, pattern } = { format: own(value, 'format'), pattern: own(value, 'pattern') }
  if (typeof format === 'string' && FORMATS.has(format)) keywords.format = format
  if (pattern === undefined) return
  if (typeof pattern === 'string' && linearPattern(pattern) !== undefined) keywords.pattern = pattern
  else lost(`the pattern ${quoted(foreignText(pattern))}, which cannot be matched in bounded time`)
}

function numbers(value: RawObject, keywords: Keywords, lost: (what: string) => void): void {
  const take = (name: string, isFit: (number: number) => boolean): void => {
    const number = own(value, name)
    if (number === undefined || number === null || typeof number === 'boolean') return
    if (typeof number === 'number' && Number.isFinite(number) && isFit(number)) keywords[name] = number
    else lost(`${name} ${quoted(foreignText(number))}, which is not a valid number`)
  }
  for (const name of COUNTS) take(name, (number) => Number.isInteger(number) && number >= 0)
  for (const name of ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']) take(name, () => true)
  take('multipleOf', (number) => number > 0)
  // In OpenAPI 3.0 these are booleans.
  for (const [bound, rule] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (own(value, rule) !== true || keywords[bound] === undefined) continue
    keywords[rule] = keywords[bound]
    delete keywords[bound]
  }
  if (own(value, 'uniqueItems') === true) keywords.uniqueItems = true
}

/** Models need only one short example. */
function examplesOf(value: RawObject): unknown[] | undefined {
  const written = own(value, 'examples')
  const example = Object.hasOwn(value, 'example') ? value.example : Array.isArray(written) ? written[0] : undefined
  return isShortExample(example) && own(value, 'enum') === undefined ? [example] : undefined
}

export function isShortExample(example: unknown): boolean {
  if (typeof example === 'string') return example !== '' && example.length <= MAX_EXAMPLE
  return typeof example === 'number' && Number.isFinite(example)
}

const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string')
