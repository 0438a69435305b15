import type { JsonSchema, Params } from '../tool.ts'
import { ajvCheck, checkAgainstDraft } from './ajv-check.ts'
import { explainParams, UNEXPLAINED } from './explain-params.ts'
import type { Explained } from './explanation.ts'
import { planDefaults } from './fill-defaults.ts'
import { guardSchema } from './guard-schema.ts'
import { linearPattern, nativePattern } from './linear-pattern.ts'
import { normaliseSchema } from './normalise-schema.ts'
import { type Draft, schemaDraft } from './schema-draft.ts'
import { isObject } from './schema-keywords.ts'
import { type Documents, SchemaReferences } from './schema-references.ts'

export type { Explained } from './explanation.ts'

/** A schema ready to judge parameters. */
export interface CompiledSchema {
  /** Ajv's own function; undefined where only the exact validator may judge. */
  readonly check: ((params: unknown) => boolean) | undefined
  /** At most so many schemas judge one value of the parameters, or values are compared with it. */
  readonly cost: number
  /** At most so many steps are taken for one character of the parameters. */
  readonly textCost: number
  /** Fills `default`s in place, and says how much that was; undefined where there are none. */
  readonly fillDefaults: ((params: Params) => number) | undefined
  /** Every problem, in schema order; only for parameters that `check` has refused. */
  explain(params: unknown): Explained[]
}

/** For the test suite of the drafts: the draft, `format` as a remark only, and documents that references may lead to. */
export interface CompileOptions {
  readonly draft?: Draft
  readonly formats?: boolean
  readonly documents?: Documents
}

const compiled = new Map<string, WeakRef<CompiledSchema>>()
const dropped = new FinalizationRegistry<string>((text) => {
  if (compiled.get(text)?.deref() === undefined) compiled.delete(text)
})

/** Compiles a schema, once for all tools with the same text and for as long as one of them lives. Throws the reason. */
export function compileSchema(schema: JsonSchema, options?: CompileOptions): CompiledSchema {
  const text = JSON.stringify(schema)
  if (options !== undefined) return compile(text, options)
  const known = compiled.get(text)?.deref()
  if (known !== undefined) return known
  const fresh = compile(text, {})
  compiled.set(text, new WeakRef(fresh))
  dropped.register(fresh, text)
  return fresh
}

/** How many schemas are held, for the test that they are let go. */
export function compiledCount(): number {
  return compiled.size
}

function compile(text: string, { draft: given, formats = true, documents }: CompileOptions): CompiledSchema {
  const schema: unknown = JSON.parse(text)
  const { ordinary, cost, textCost, repeats, hasDefaults } = guardSchema(schema, documents)
  const draft = given ?? schemaDraft(schema)
  normaliseSchema(schema, draft)
  // An ordinary schema refers to nothing by name, so that two tools may well have the same one.
  if (ordinary && isObject(schema)) delete schema.$id
  checkAgainstDraft(schema, draft)
  const references = new SchemaReferences(schema, documents)
  const judge = ordinary ? ajvCheck(schema, draft, formats) : undefined
  const check = judge?.check
  const patterns = judge?.patterns ?? []
  // A schema on which validation cannot end shows it on the first value.
  check?.({})
  return {
    check,
    cost,
    textCost: textCost + Math.max(0, ...patterns) * Math.min(cost, patterns.length * repeats),
    fillDefaults: hasDefaults ? planDefaults(schema, references) : undefined,
    explain(params) {
      const pattern = (source: string) => linearPattern(source) ?? nativePattern(source)
      const problems = explainParams(schema, params, { references, draft07: draft === 'draft-07', formats, pattern })
      return problems.length > 0 ? problems : [UNEXPLAINED]
    },
  }
}
