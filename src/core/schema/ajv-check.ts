import { Ajv, type FuncKeywordDefinition, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { hasUniqueItems } from './canonical-text.ts'
import { FORMATS } from './formats.ts'
import { type LinearPattern, linearPattern } from './linear-pattern.ts'
import { isMultipleOf } from './multiple-of.ts'
import type { Draft } from './schema-draft.ts'
import { RefusedSchemaError } from './schema-references.ts'

/** The patterns of one schema have at most so many instructions together: compiling them takes time, too. */
const MAX_INSTRUCTIONS = 5000

/** Thrown while compiling a pattern that the linear engine cannot run, or one too many. */
class UnfitPatternError extends Error {}

// Ajv compares each item with each other.
const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  compile: (unique: boolean) => (items: unknown[]) => !unique || hasUniqueItems(items),
}

// Ajv says that 19.99 is no multiple of 0.01.
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

/** What plain objects inherit: a schema that names any of it must look at own properties only, which costs time. */
const INHERITED =
  /"(?:constructor|(?:to|toLocale)String|valueOf|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|__\w+__)"/

/** Ajv's own function for a schema, and the instructions of each pattern in it. */
export interface AjvCheck {
  readonly check: ValidateFunction
  readonly patterns: readonly number[]
}

/**
 * Compiles a schema; undefined where that is not for Ajv after all. Each schema has an Ajv of its own that is
 * dropped at once (0.3 ms without meta-schemas): Ajv remembers all it ever compiled, and a second schema of the same
 * `$id` would clash.
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
    // A RangeError: references so entangled that Ajv runs out of stack.
    if (error instanceof UnfitPatternError || error instanceof RangeError) return undefined
    throw error
  }
}

function enginePattern(source: string, patterns: number[]): LinearPattern {
  const pattern = linearPattern(source)
  if (pattern !== undefined) patterns.push(pattern.instructions)
  const together = patterns.reduce((sum, instructions) => sum + instructions, 0)
  if (pattern === undefined || together > MAX_INSTRUCTIONS) throw new UnfitPatternError(source)
  return pattern
}

const judges = new Map<Draft, Ajv>()

/** Throws where a schema breaks the rules of its draft, with the first reason. */
export function checkAgainstDraft(schema: unknown, draft: Draft): void {
  let judge = judges.get(draft)
  if (judge === undefined) {
    const options: Options = { strict: false, logger: false, validateFormats: false }
    judge = draft === 'draft-07' ? new Ajv(options) : new Ajv2020(options)
    judges.set(draft, judge)
  }
  if (judge.validateSchema(schema as object) === true) return
  const fault = judge.errors?.[0]
  const place = (fault?.instancePath ?? '').slice(1).replaceAll('/', '.')
  throw new RefusedSchemaError(
    `${place === '' ? 'the schema' : place} ${fault?.message ?? 'breaks the rules of its draft'}`,
  )
}
