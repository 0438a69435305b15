import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import type { Access, Actor, AuditEvents } from '../app/callers/audit-events.ts'
import type { Budgets } from '../app/callers/budgets.ts'
import type { Caller, Callers } from '../app/callers/callers.ts'
import type { Tenants } from '../app/callers/tenants.ts'
import type { Installation } from '../app/installation.ts'
import type { Secrets } from '../app/secrets.ts'
import type { ToolManager } from '../app/tools/tool-manager.ts'
import type { Config } from '../config/config.ts'
import type { Scope } from '../config/roles.ts'
import type { Clock } from '../core/clock.ts'
import type { Environment } from '../core/environment.ts'
import type { InTurn } from '../core/operation/in-turn.ts'
import { OperationError } from '../core/operation/operation-error.ts'
import type { Storage } from '../storage/sql/engine.ts'

/** The scope that a caller needs, or several of which it needs one. */
export type NeededScope = Scope | readonly Scope[]

/** Schemas of fields, by name. */
export type Fields = Readonly<Record<string, JSONSchema>>

/** A schema that is too special to be read as a type, with the type that it stands for. */
export interface Given<Type> {
  readonly schema: object
  readonly type?: Type
}

/** The schema of a whole body, with its type. */
export const given = <Type>(schema: object): Given<Type> => ({ schema })

/** Who calls an operation, and through what. */
export interface OperationCall {
  /** Undefined for the user of this machine, and for a program that uses the library. */
  readonly caller: Caller | undefined
  /** Whom the audit log names. */
  readonly by: Actor
  /** `page` is a browser on this server's own address. */
  readonly face: 'rest' | 'page' | 'cli' | 'library'
  /** Whose data is meant; undefined: that of all tenants. */
  readonly tenant: string | undefined
  readonly signal?: AbortSignal
  /** How long requests to this server need no key. Absent: they need one, or it is no request. */
  readonly keyless?: 'until-first-key' | 'always' | undefined
  /** Lets the browser of the caller go on as another caller. */
  readonly goOnAs?: (id: string) => Promise<void>
}

/** What operations that need only the store may use. An installation has more. */
export interface StoreHost {
  readonly storage: Storage
  readonly events: AuditEvents
  readonly access: Access
  readonly clock: Clock
  readonly secrets: Secrets
  /** The variables that the configuration may refer to. */
  readonly env: Environment
  /** Changes of the configuration and of secrets. */
  readonly changes: InTurn
  /** Only on a server: they read what a command changes. */
  readonly manager?: ToolManager
  readonly callers?: Callers
  readonly budgets?: Budgets
  readonly tenants?: Tenants
  currentConfig(): Promise<Config>
  /** Waits until all answered calls are recorded, or until the timeout if the store is slow. */
  settle(): Promise<void>
}

/** What is known without a store. */
type Outside = Pick<StoreHost, 'clock' | 'currentConfig'>

interface Hosts {
  readonly store: StoreHost
  readonly installation: Installation
  /** The command line waits for MCP servers first. */
  readonly servers: Installation
}
type Needs = keyof Hosts

/** Whose data an operation reads. */
export type TenantChoice =
  /** Only that of the caller. */
  | 'own'
  /** One tenant: `?tenant=` of a caller with the scope `installation`. */
  | 'one'
  /** One tenant or all of them, as `*`. */
  | 'any'

/** What a person or a program can do, besides calling tools and running models. */
export interface Operation<Need extends Needs = Needs, Input = never, Answer = unknown> {
  /** Such as `approvals.decide`: the method of the library. */
  readonly id: string
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Such as `/api/approvals/:id`. Absent: there is no route. */
  readonly path?: string
  readonly scope: NeededScope | null
  /** The group of the API reference. */
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly params?: object
  readonly query?: object
  readonly body?: object
  /** What only the user of this machine and programs that use the library may say, besides. */
  readonly local?: object
  /** Default: `own`. */
  readonly tenant?: TenantChoice
  /** The schema of the answer. */
  readonly answer: object
  /** Default: 200; 204 without an answer. */
  readonly status?: 200 | 201 | 202 | 204
  /** How much a command opens. */
  readonly needs: Need
  /** What the schemas can't say and no store is needed for: a command checks it before it creates one. */
  check?(host: Outside, input: Input, call: OperationCall): void | Promise<void>
  run(host: Hosts[Need], input: Input, call: OperationCall): Answer | Promise<Answer>
  readonly cli?: CommandOf<Input, Answer> | readonly CommandOf<Input, Answer>[]
}

/** Any operation, for faces. They check the input against its schemas. */
export type AnyOperation = Operation<Needs, never, unknown>

/** The operations of a feature. */
export interface OperationGroup {
  readonly operations: Readonly<Record<string, AnyOperation>>
  /** Shown after the help of its commands. */
  readonly help?: string
}

export type InputOf<Of> = Of extends Operation<Needs, infer Input, unknown> ? Input : never
export type AnswerOf<Of> = Of extends Operation<Needs, never, infer Answer> ? Answer : never

/** An option of a command, for a field of the input. */
export interface CommandOption {
  /** Such as `--status <status>`. */
  readonly flags: string
  readonly description: string
  readonly choices?: readonly string[]
  readonly default?: string
  readonly required?: true
  /** What the schema of the field allows, in words: `--name takes 1 to 100 characters`. */
  readonly takes?: string
}

/** What a command knows besides the input and the answer. */
interface Asked {
  /** Undefined: all tenants. */
  readonly tenant: string | undefined
  currentConfig(): Promise<Config>
}

type Table = readonly (readonly string[])[]

/** What a terminal shows. */
export interface Shown {
  /** Instead of the answer, with `--json`. */
  readonly document?: unknown
  /** The first row is the head. A function is called if there is no `--json`. */
  readonly table?: Table | (() => Promise<Table>)
  readonly result?: readonly string[]
  /** On stderr. */
  readonly notes?: readonly string[]
  /** Default: 0. */
  readonly code?: number
}

/** How the command line offers an operation. */
export interface CommandOf<Input, Answer> {
  /** The words after `toolyard`, such as `approvals list`. */
  readonly command: string
  readonly description: string
  /** Descriptions of arguments, by field: all fields of the path. The last one can be a list, which may be empty. */
  readonly arguments?: Readonly<Record<string, string | { readonly list: string }>>
  /** The arguments that can be left out. */
  readonly optional?: readonly string[]
  /** A field that is read from stdin, without the last line break. */
  readonly stdin?: string
  /**
   * By field, such as `status` or `guard.min_calls`, in the order of the help. One called `tenant` is `--tenant`, if it isn't the
   * last or has a default.
   */
  readonly options?: Readonly<Record<string, CommandOption>>
  /** The description of `--tenant`. Without it the command has all tenants. */
  readonly tenant?: string
  /** The input, from what was typed. Default: options are read by the schemas of their fields. */
  read?(typed: Typed): unknown
  /** The answer if there is no store. Default: what the path names doesn't exist; or else a store is created. */
  readonly nothing?: Answer | ((config: Config, input: Input) => Answer | Promise<Answer>)
  /** A store is created if there is none, whatever the path names. */
  readonly creates?: true
  /** False: the configuration may refer to secrets and variables that aren't set. */
  readonly secrets?: boolean
  /** The tool that the command needs, so that it waits for no other MCP server; null: none. */
  tool?(host: Installation, input: Input): Promise<string | null>
  /** How the command calls what the path names, such as `approval with the id`. */
  readonly thing?: string | ((input: Input) => string)
  /** What to do if that doesn't exist. */
  readonly hint?: string
  show(answer: Answer, input: Input, asked: Asked): Shown
}

/** What was typed, by field. */
export type Typed = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

type FieldOf<Schema> = Schema extends JSONSchema ? FromSchema<Schema> : unknown
/** Fields with a default are always there. */
type Defaulted<Of> = { [Name in keyof Of]: Of[Name] extends { readonly default: unknown } ? Name : never }[keyof Of]
type Present<Of, Required> = { readonly [Name in keyof Of & (Required | Defaulted<Of>)]: FieldOf<Of[Name]> }
type Absent<Of, Required> = {
  readonly [Name in Exclude<keyof Of, Required | Defaulted<Of>>]?: FieldOf<Of[Name]>
}
type FieldsOf<Of, Required> = Present<Of, Required> & Absent<Of, Required>
type BodyOf<Body, Required> =
  Body extends Given<infer Type>
    ? Body extends { readonly schema: object }
      ? Type
      : FieldsOf<Body, Required>
    : FieldsOf<Body, Required>
type InputFrom<Params, Query, Body, Required, Local> = FieldsOf<Params, keyof Params> &
  FieldsOf<Query & Local, never> &
  BodyOf<Body, Required>

interface Spec<
  Need extends Needs,
  Params,
  Query,
  Body,
  Required,
  Local,
  Answer,
  Input = InputFrom<Params, Query, Body, Required, Local>,
> extends Omit<Operation<Need, Input, Answer>, 'params' | 'query' | 'body' | 'local'> {
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  /** The fields that a body must have. */
  readonly required?: readonly Required[]
  readonly local?: Local
}

/** Refuses to read what nothing was written to. */
export function noStore(): never {
  throw new OperationError('not_found', 'There is no store yet', '"toolyard serve" creates one')
}

/** Describes an operation once: faces derive from it. The input has the fields of the path, the query and the body. */
export function operation<
  Need extends Needs,
  Answer,
  const Params extends Fields = Record<never, never>,
  const Query extends Fields = Record<never, never>,
  const Body extends Fields | Given<unknown> = Record<never, never>,
  const Required extends string = never,
  const Local extends Fields = Record<never, never>,
>({
  params,
  query,
  body,
  required,
  local,
  ...rest
}: Spec<Need, Params, Query, Body, Required, Local, Answer>): Operation<
  Need,
  InputFrom<Params, Query, Body, Required, Local>,
  Answer
> {
  const isGiven = body !== undefined && 'schema' in body
  const whole = body === undefined ? undefined : isGiven ? (body.schema as object) : exactly(body)
  return {
    ...rest,
    ...(params && { params: { type: 'object', properties: params } }),
    ...(query && { query: exactly(query) }),
    ...(whole && { body: required === undefined ? whole : { ...whole, required } }),
    ...(local && { local: exactly(local) }),
  } as Operation<Need, InputFrom<Params, Query, Body, Required, Local>, Answer>
}

export const TEXT = { type: 'string' } as const
export const COUNT = { type: 'integer' } as const
export const TIME = { type: 'string', format: 'date-time' } as const
export const TIME_OR_NULL = { type: ['string', 'null'], format: 'date-time' } as const
export const TEXT_OR_NULL = { type: ['string', 'null'] } as const

export const object = (properties: object, description?: string) => ({
  type: 'object',
  properties,
  ...(description !== undefined && { description }),
})

export const list = (properties: object, description?: string) => ({
  type: 'array',
  items: object(properties),
  ...(description !== undefined && { description }),
})

/** A query string or a body in which other properties are errors. */
export const exactly = (properties: object) => ({ ...object(properties), additionalProperties: false })

/** A field of the path. */
export const inPath = <const Length extends number>(maxLength: Length) => ({ ...TEXT, maxLength }) as const

/** An id in the path that callers choose, or that of a job. */
export const ID_IN_PATH = { type: 'string', pattern: '^[\\w-]{1,64}$' } as const

/** The answer of an operation that removes something. */
export const REMOVED = { answer: { description: 'Removed', type: 'null' }, status: 204 } as const

/** The fields of a list that is read page by page. */
export const PAGE = {
  limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
  cursor: { type: 'string', minLength: 1, maxLength: 1_000, description: '`next` of the previous page.' },
} as const
