import type { JsonSchema, Params } from '../tool.ts'
import type { Explained } from './explanation.ts'

/** A schema that can validate parameters. */
export interface CompiledSchema {
  /** Undefined if only the exact validator may check them. */
  readonly check: ((params: unknown) => boolean) | undefined
  /** The maximum number of schemas that check one value, or values compared with it. */
  readonly cost: number
  /** The maximum number of steps per character. */
  readonly textCost: number
  /** Those of `UNUSUAL_NAMES` that the schema names as properties. */
  readonly unusual: ReadonlySet<string>
  /** Fills in defaults, in place, and returns their size; undefined if there are none. */
  readonly fillDefaults: ((params: Params) => number) | undefined
  /** Every problem, in schema order. Only for parameters that `check` rejected. */
  explain(params: unknown): Explained[]
}

type Compile = (schema: JsonSchema) => CompiledSchema

let provided: Compile | undefined

/** The compiler loads Ajv, which is large, so the executor loads it with its first call. Once loaded, it is here. */
export const compiler = (): Compile | undefined => provided

export function provideCompiler(compile: Compile): void {
  provided = compile
}

export const compile: Compile = (schema) => {
  if (provided === undefined) throw new Error('The compiler of schemas is not loaded: call a tool first')
  return provided(schema)
}

/** Validation that may take more steps blocks the process for too long. */
const MAX_INLINE_STEPS = 2_000_000

type Inline = CompiledSchema & { readonly check: NonNullable<CompiledSchema['check']> }

interface Size {
  readonly nodes: number
  readonly characters: number
}

const stepsOf = ({ cost, textCost }: CompiledSchema, { nodes, characters }: Size): number =>
  cost * nodes + textCost * characters

/** Whether this process may check values of this size. */
export const isInline = (schema: CompiledSchema, size: Size): schema is Inline =>
  schema.check !== undefined && stepsOf(schema, size) <= MAX_INLINE_STEPS

/** Whether this process may check this value, which is JSON. Stops counting when it is too large. */
export function isInlineFor(schema: CompiledSchema, value: unknown): schema is Inline {
  if (schema.check === undefined) return false
  const size = { nodes: 0, characters: 0 }
  const fits = (part: unknown): boolean => {
    size.nodes++
    if (typeof part === 'string') size.characters += part.length
    if (stepsOf(schema, size) > MAX_INLINE_STEPS) return false
    if (typeof part !== 'object' || part === null) return true
    for (const key in part) {
      size.characters += key.length
      if (!fits(part[key as keyof typeof part])) return false
    }
    return true
  }
  return fits(value)
}
