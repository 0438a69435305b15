import { Ajv, type FuncKeywordDefinition, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { hasUniqueItems } from '../json/canonical-text.ts'
import { isMultipleOf } from '../json/json-type.ts'
import { FORMATS } from './formats.ts'
import { type LinearPattern, linearPattern } from './linear-pattern.ts'
import type { Draft } from './schema-keywords.ts'
import { RefusedSchemaError } from './schema-references.ts'

/** The limit for all patterns of one schema: compiling them takes time, too. */
const MAX_INSTRUCTIONS = 5000

/** The linear engine can't run the pattern, or there are too many. */
class UnsupportedPatternError extends Error {}

// Ajv's own check is quadratic.
const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  compile: (unique: boolean) => (items: unknown[]) => !unique || hasUniqueItems(items),
}

// Ajv rejects 19.99 as a multiple of 0.01.
const MULTIPLE_OF: FuncKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  compile: (divisor: number) => (value: number) => isMultipleOf(value, divisor),
}

const OPTIONS: Options = {
  strict: false,
  strictNumbers: true,
  logger: false,
  meta: false,
  validateSchema: false,
  formats: Object.fromEntries(FORMATS) as NonNullable<Options['formats']>,
}

/** Names that plain objects inherit. A schema with one of them needs the slower check of own properties. */
const INHERITED =
  /"(?:constructor|(?:to|toLocale)String|valueOf|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|__\w+__)"/

interface AjvCheck {
  readonly check: ValidateFunction
  readonly patterns: readonly number[]
}

/**
 * Compiles a schema; undefined if Ajv can't validate it. Each schema has its own Ajv (0.3 ms without meta-schemas),
 * because Ajv never forgets a schema and rejects a second one with the same `$id`.
 */
export function ajvCheck(schema: unknown, draft: Draft, formats = true): AjvCheck | undefined {
  const patterns: number[] = []
  const options = {
    ...OPTIONS,
    validateFormats: formats,
    ownProperties: INHERITED.test(JSON.stringify(schema)),
    code: { regExp: Object.assign((source: string) => enginePattern(source, patterns), { code: 'linearPattern' }) },
  }
  const ajv = draft === 'draft-07' ? new Ajv(options) : new Ajv2020(options)
  ajv.removeKeyword('id').removeKeyword('uniqueItems').removeKeyword('multipleOf')
  ajv.addKeyword(UNIQUE_ITEMS).addKeyword(MULTIPLE_OF)
  try {
    return { check: ajv.compile(schema as object), patterns }
  } catch (error) {
    // A RangeError means that Ajv ran out of stack on entangled references.
    if (error instanceof UnsupportedPatternError || error instanceof RangeError) return undefined
    throw error
  }
}

function enginePattern(source: string, patterns: number[]): LinearPattern {
  const pattern = linearPattern(source)
  if (pattern !== undefined) patterns.push(pattern.instructions)
  const total = patterns.reduce((sum, instructions) => sum + instructions, 0)
  if (pattern === undefined || total > MAX_INSTRUCTIONS) throw new UnsupportedPatternError(source)
  return pattern
}

const draftValidators = new Map<Draft, Ajv>()

export function checkAgainstDraft(schema: unknown, draft: Draft): void {
  let validator = draftValidators.get(draft)
  if (validator === undefined) {
    const options: Options = { strict: false, logger: false, validateFormats: false }
    validator = draft === 'draft-07' ? new Ajv(options) : new Ajv2020(options)
    draftValidators.set(draft, validator)
  }
  if (validator.validateSchema(schema as object) === true) return
  const fault = validator.errors?.[0]
  const place = (fault?.instancePath ?? '').slice(1).replaceAll('/', '.')
  throw new RefusedSchemaError(`${place === '' ? 'the schema' : place} ${fault?.message ?? 'violates its draft'}`)
}
