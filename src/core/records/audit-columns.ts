import type { ToolErrorCode } from '../tool-result.ts'

const TEXT = { sqlite: 'TEXT', postgres: 'text', schema: { type: 'string' } } as const

/** How both engines store a type, and how JSON Schema describes it. */
export const COLUMN_TYPES = {
  text: TEXT,
  /** Has no `enum`: rows of other versions may have other codes. */
  code: TEXT,
  outcome: { ...TEXT, schema: { enum: ['success', 'failure', 'unknown'] } },
  count: { sqlite: 'INTEGER', postgres: 'bigint', schema: { type: 'integer' } },
  number: { sqlite: 'REAL', postgres: 'double precision', schema: { type: 'number' } },
  /** An integer, which rows show in units. */
  millionths: { sqlite: 'INTEGER', postgres: 'bigint', schema: { type: 'number' } },
} as const

interface ColumnValues {
  readonly text: string
  readonly code: ToolErrorCode
  readonly outcome: (typeof COLUMN_TYPES.outcome.schema.enum)[number]
  readonly count: number
  readonly number: number
  readonly millionths: number
}

/** One column of the audit log. */
export interface AuditColumn {
  readonly type: keyof typeof COLUMN_TYPES
  /** Never null. Columns that are added are not required: older rows have no value. */
  readonly required?: true
  /** The field of `CallRecord` that fills it. Without one, `chainRow` has to. */
  readonly field?: string
  /** Its name in rows that are shown or exported, if that is another. */
  readonly shown?: string
  /**
   * How the hash of a row covers it: as one of the first members, or in its own way (see `rowHash`). Default: by its name,
   * if it is not null, so that older rows keep their hash. Columns that are added have the default.
   */
  readonly hashed?: 'first' | 'own'
  /** JSON has it after this column. Columns that are added come last. */
  readonly follows?: string
  readonly description?: string
}

/**
 * The columns of the audit log, in the order of the chain, the SQL view, CSV and the HTTP API, without those that name the
 * row (chain, position, time) and its hash. Buffers, tables, statements, exports, schemas and types are made of this list.
 * A new column is added at the end, with a migration of the table `audit` and a row in docs/reference/audit.md.
 */
export const AUDIT_COLUMNS = {
  tenant: { type: 'text', required: true, field: 'tenant', hashed: 'first' },
  caller: { type: 'text', field: 'caller', hashed: 'first', description: 'The id of the API key.' },
  source: {
    type: 'text',
    field: 'source',
    hashed: 'first',
    description: 'The interface that the call came through.',
  },
  run_id: { type: 'text', field: 'runId', hashed: 'first', description: 'The run that the call belongs to.' },
  tool: { type: 'text', required: true, hashed: 'first', description: 'Empty for an event.' },
  model: {
    type: 'text',
    field: 'model',
    hashed: 'own',
    description: 'The model that requested the call, as provider:model.',
  },
  schema_hash: { type: 'text', field: 'schemaHash', hashed: 'first', description: 'The hash of the tool definition.' },
  params_hash: { type: 'text', hashed: 'first', description: 'A keyed hash of the parameters.' },
  outcome: { type: 'outcome', required: true, hashed: 'first' },
  code: { type: 'code', shown: 'error_code', hashed: 'first' },
  duration_ms: { type: 'number', required: true, hashed: 'first' },
  attempts: {
    type: 'count',
    required: true,
    hashed: 'first',
    description: 'How often the tool ran for the call, or how many times the event happened.',
  },
  event: { type: 'text', hashed: 'own', description: 'What happened, such as key.created; null for a call.' },
  subject: { type: 'text', hashed: 'own', description: 'What it happened to, such as the id of a key.' },
  detail: { type: 'text', hashed: 'own', description: 'More about the event: a JSON object as text.' },
  version: {
    type: 'text',
    field: 'version',
    follows: 'schema_hash',
    description: 'The version of the tool; null if it has none.',
  },
  cost: {
    type: 'millionths',
    field: 'cost',
    follows: 'schema_hash',
    description: 'What the call cost, in units of costs.currency; null if it is unknown.',
  },
  key: {
    type: 'text',
    field: 'keyId',
    follows: 'schema_hash',
    description: 'The id of the API key that called; null if there was none.',
  },
} as const satisfies Readonly<Record<string, AuditColumn>>

type Columns = typeof AUDIT_COLUMNS
export type AuditColumnName = keyof Columns

/** The columns in order, with their names. */
export const auditColumns: readonly (AuditColumn & { readonly name: AuditColumnName; readonly shown: string })[] =
  Object.entries<AuditColumn>(AUDIT_COLUMNS).map(([name, column]) => ({
    ...column,
    name: name as AuditColumnName,
    shown: column.shown ?? name,
  }))

type Value<Name extends AuditColumnName> = ColumnValues[Columns[Name]['type']]
type Stored<Name extends AuditColumnName> =
  | Value<Name>
  | (Columns[Name] extends { readonly required: true } ? never : null)
type Shown<Name extends AuditColumnName> = Columns[Name] extends { readonly shown: infer Other extends string }
  ? Other
  : Name
type FilledByField = {
  [Name in AuditColumnName]: Columns[Name] extends { readonly field: string } ? Name : never
}[AuditColumnName]
type Field<Name extends FilledByField> = Columns[Name]['field']
type HashedByName = {
  [Name in AuditColumnName]: Columns[Name] extends { readonly hashed: string } ? never : Name
}[AuditColumnName]

/** The columns of a row as it is stored. */
export type StoredColumns = { readonly [Name in AuditColumnName]: Stored<Name> }

/** The columns of a row as it is shown and exported. */
export type ShownColumns = { readonly [Name in AuditColumnName as Shown<Name>]: Stored<Name> }

/** The stored columns that fields of records fill. */
export type FilledColumns = Pick<StoredColumns, FilledByField>

/** Those fields. */
export type RecordFields = { readonly [Name in FilledByField as Field<Name>]?: Value<Name> | undefined }

/** Those fields on their way to the store. */
export type EntryFields = {
  readonly [Name in Exclude<FilledByField, HashedByName> as Field<Name>]: Stored<Name>
} & { readonly [Name in FilledByField & HashedByName as Field<Name>]?: Stored<Name> | undefined }
