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
