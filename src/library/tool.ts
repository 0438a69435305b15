import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { checkFields } from '../core/execution/bound-tool.ts'
import { codeVersion, FIELDS, isText, REFINEMENT, RESULT, type ToolView } from '../core/execution/tool-view.ts'
import type { Handler, IsolatedHandler } from '../core/handler.ts'
import type { Log } from '../core/log.ts'
import { readOutput, readSchema } from '../core/schema/json-schema-of.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import { suggest } from '../core/suggest.ts'
import type { JsonSchema, Params, ToolDefinition } from '../core/tool.ts'
import type { ToolResult } from '../core/tool-result.ts'

/** A schema of a validation library: zod, valibot, arktype and others. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaV1.Props<Input, Output> &
    Partial<Pick<StandardJSONSchemaV1.Props<Input, Output>, 'jsonSchema'>>
}

/** A JSON Schema of an object. */
export interface ObjectSchema {
  readonly type: 'object'
  readonly properties?: { readonly [name: string]: unknown }
  readonly [keyword: string]: unknown
}

/** `any` and `never` have no type to infer, and are expensive to try. */
type IsLoose<Schema> = 0 extends 1 & Schema ? true : [Schema] extends [never] ? true : false

/** The type of a JSON Schema, or `Usual` if it isn't a literal. */
type TypeOf<Schema, Options extends { keepDefaultedPropertiesOptional?: true }, Usual> = Schema extends JSONSchema
  ? unknown extends FromSchema<Schema, Options>
    ? Usual
    : FromSchema<Schema, Options>
  : Usual

/** What callers pass to a tool with this schema. */
export type InputOf<Schema> =
  IsLoose<Schema> extends true
    ? Params
    : Schema extends StandardSchema<infer Input, unknown>
      ? Input
      : TypeOf<Schema, { keepDefaultedPropertiesOptional: true }, Params>

/** What `execute` gets: with defaults and transforms applied. */
export type ParsedOf<Schema> =
  IsLoose<Schema> extends true
    ? Params
    : // biome-ignore lint/suspicious/noExplicitAny: the input type doesn't matter.
      Schema extends StandardSchema<any, infer Output>
      ? Output
      : TypeOf<Schema, Record<never, never>, Params>

/** What `execute` returns if the tool has this `output` schema. */
export type ReturnedBy<Output> =
  IsLoose<Output> extends true
    ? unknown
    : // biome-ignore lint/suspicious/noExplicitAny: the output type doesn't matter.
      Output extends StandardSchema<infer Input, any>
      ? Input
      : TypeOf<Output, Record<never, never>, unknown>

/** What callers get of a value that `execute` returns: plain JSON. A Date is a string, `undefined` is null. */
export type JsonOf<Value> = 0 extends 1 & Value
  ? Value
  : Value extends void
    ? null
    : Value extends string | number | boolean | null
      ? Value
      : Value extends { toJSON(...key: never): infer Json }
        ? JsonOf<Json>
        : Value extends bigint | PromiseLike<unknown> | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
          ? never
          : Value extends readonly unknown[]
            ? { [Index in keyof Value]: JsonOf<Value[Index]> }
            : Value extends (...call: never) => unknown
              ? null
              : Value extends object
                ? { [Key in keyof Value]: JsonProperty<Value[Key]> }
                : Value

/** Properties without a value, and functions, are left out. */
type JsonProperty<Value> = Value extends undefined
  ? Value
  : Value extends (...call: never) => unknown
    ? undefined
    : JsonOf<Value>

/** The second argument of `execute`. */
export interface ToolContext<App = unknown> {
  /** Aborts at the deadline, or when the caller cancels. */
  readonly signal: AbortSignal
  readonly tenant: string
  /** The `user` of the call; on a server, the signed-in user, else the caller's key. Not available in isolated handlers. */
  readonly user: string | undefined
  readonly flags: Readonly<Record<string, boolean>>
  readonly log: Log
  /** Whatever the application passed with the call. Not available in isolated handlers. */
  readonly app: App
  /** Reports progress to the caller. */
  report(progress: unknown): void
  /**
   * Calls another tool for the same caller, within the deadline of this call. The call is recorded under this one. Not
   * available in isolated handlers.
   */
  call<Result = unknown>(name: string, input: unknown): Promise<ToolResult<Result>>
}

type CamelCase<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : Name

/** The keys of objects too; lists stay as they are. */
type CamelCaseKeys<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value as CamelCase<Key>]: Value[Key] }
    : Value

/** The optional fields of a definition, in camelCase. */
export type ToolFields = {
  readonly [Field in (typeof FIELDS)[number] as CamelCase<Field>]?: CamelCaseKeys<NonNullable<ToolDefinition[Field]>>
}

/** The argument of `tool()`. */
export interface ToolOptions<Name extends string, Input, Output, Result, App> extends ToolFields {
  readonly name: Name
  /** What the tool does and when to use it, for models. */
  readonly description: string
  /** A JSON Schema of an object, or a schema of a validation library. */
  readonly input: Input
  /** The JSON Schema of `input`, if its library can't give one. */
  readonly json?: object
  /** The schema of results: a tool that returns anything else fails. */
  readonly output?: Output
  readonly execute:
    | ((input: NoInfer<ParsedOf<Input>>, context: ToolContext<App>) => Result | Promise<Result>)
    | IsolatedHandler
}

/** Any tool in code that takes this `app`. */
export interface AnyTool<App = never> extends ToolDefinition {
  readonly input: unknown
  /** For the compiler only: never set. */
  readonly '~types'?: { readonly input: unknown; readonly result: unknown; readonly app: (app: App) => void }
}

/** A tool in code. It is a definition too, so a registry takes it as it is. */
export interface Tool<Name extends string, Input, Result, App> extends AnyTool<App> {
  readonly name: Name
  readonly input: Input
  readonly '~types'?: {
    readonly input: InputOf<Input>
    readonly result: JsonOf<Result>
    readonly app: (app: App) => void
  }
  readonly execute: ((input: ParsedOf<Input>, context: ToolContext<App>) => Result | Promise<Result>) | IsolatedHandler
}

/** The names that all providers take. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** Makes a tool: definition, schema and function in one place. Throws a TypeError if the schema can't be used. */
export function tool<
  const Name extends string,
  const Input extends StandardSchema | ObjectSchema,
  const Output extends StandardSchema | JsonSchema | undefined = undefined,
  Result extends ReturnedBy<Output> = ReturnedBy<Output>,
  App = unknown,
>(options: ToolOptions<Name, Input, Output, Result, App>): Tool<Name, Input, Result, App> {
  if (!isObject(options)) throw new TypeError('tool() takes an object: tool({ name, description, input, execute })')
  const { name, description, input, json, output, execute } = options
  const fields = definitionFields(String(name), options)
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new TypeError(`Tool '${String(name)}': a name has 1 to 64 letters, digits, _ or -`)
  }
  if (!isText(description)) {
    throw new TypeError(`Tool '${name}' needs a description: say what the tool does and when to use it`)
  }
  if (typeof execute !== 'function' && typeof Object(execute).module !== 'string') {
    throw new TypeError(`Tool '${name}' needs execute: a function, or isolated(module, export)`)
  }
  const read = named(name, () => readSchema(input, json))
  const made: Tool<Name, Input, Result, App> & ToolView = {
    ...fields,
    name,
    description,
    parameters: read.schema,
    implementation: { type: 'code', version: codeVersion() },
    input,
    execute: execute as Tool<Name, Input, Result, App>['execute'] & (Handler | IsolatedHandler),
    [REFINEMENT]: read.refinement,
    [RESULT]: output === undefined ? undefined : named(name, () => readOutput(output)),
  }
  named(name, () => checkFields(made))
  return Object.freeze(made)
}

/** The errors of definitions, in the words of `tool()`. */
function named<Value>(name: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    const problem = (error as Error).message
      .replace(/^Tool parameters/, 'input')
      .replace(`Tool '${name}' has an invalid `, 'invalid ')
      .replace(/or pass the JSON Schema$/, 'or pass the JSON Schema as json')
      .replaceAll(/\b[a-z]+(_[a-z]+)*_(ms|attempts|bytes|concurrency|limit)\b/g, camelCase)
    const isConversion = problem.startsWith("input can't be converted")
    const fix = `${problem.endsWith('.') ? '' : '.'} Pass the JSON Schema as json`
    throw new TypeError(`Tool '${name}': ${problem}${isConversion ? fix : ''}`, { cause: error })
  }
}

const OWN: ReadonlySet<string> = new Set(['name', 'description', 'input', 'json', 'output', 'execute'])

/** What other libraries call these fields. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  parameters: 'input',
  inputSchema: 'input',
  schema: 'input',
  outputSchema: 'output',
  func: 'execute',
  handler: 'execute',
  needsApproval: 'approval',
}

/** The fields in the names of a definition. A misspelled one, such as `permission`, must not open the tool. */
function definitionFields(tool: string, options: object): Partial<Omit<ToolDefinition, 'name'>> {
  const fields: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(options)) {
    if (OWN.has(key) || value === undefined) continue
    const field = snakeCase(key)
    if (!FIELDS.some((known) => known === field) || camelCase(field) !== key) {
      const known = [...OWN, ...FIELDS.map(camelCase)]
      const near = Object.hasOwn(ELSEWHERE, key) ? ELSEWHERE[key] : suggest(key, known)[0]
      const fix = near === undefined ? `Known fields are ${known.join(', ')}` : `Did you mean "${near}"?`
      throw new TypeError(`Tool '${tool}': unknown field "${key}". ${fix}`)
    }
    fields[field] = isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [snakeCase(name), one]))
      : value
  }
  return fields
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const camelCase = (name: string): string => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
