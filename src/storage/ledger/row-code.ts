import {
  type AuditColumn,
  auditColumns,
  type FilledColumns,
  type RecordFields,
} from '../../core/records/audit-columns.ts'
import type { CallRecord } from '../../core/records/recorder.ts'
import type { AuditRow, CallEntry } from '../../core/storage/ledger.ts'
import type { ChainRow } from './ledger-tables.ts'
import { storableText } from './storable-text.ts'

/**
 * Straight code, made of the list of columns when this module is loaded. A loop over the list takes 0.3 to 0.5 µs more for
 * each function and row. Only names of that list become code.
 */
export const compiled = (parameters: string, expression: string): unknown =>
  new Function(parameters, `return ${expression}`)

const membersOf = (names: readonly string[]): string => names.map((name) => `row.${name}`).join(', ')
const namesOf = (columns: readonly { readonly name: string }[]): string[] => columns.map(({ name }) => name)

const filled = auditColumns.filter((column) => column.field !== undefined)

/** The fields of a record that fill columns, on their way to the store. */
export const entryFields = compiled(
  'record',
  `({ ${filled.map(({ field, required }) => `${field}: record.${field}${required ? '' : ' ?? null'}`).join(', ')} })`,
) as (record: CallRecord) => Pick<CallEntry, keyof RecordFields>

/** A value that every engine returns unchanged. */
function storable({ type, field, required }: AuditColumn): string {
  const value = `entry.${field}`
  if (type === 'count' || type === 'millionths') return `Number.isSafeInteger(${value}) ? ${value} : null`
  if (type === 'number') return `Number.isFinite(${value}) ? ${value} : null`
  return `storableText(${value}${required ? '' : ' ?? null'})`
}

const makeFilledColumns = compiled(
  'storableText',
  `(entry) => ({ ${filled.map((column) => `${column.name}: ${storable(column)}`).join(', ')} })`,
) as (text: typeof storableText) => (entry: CallEntry) => FilledColumns

/** The columns that fields of records fill. */
export const filledColumns = makeFilledColumns(storableText)

type Unhashed = Omit<ChainRow, 'hash'>

/** The first members of the hash of a row. */
export const firstHashed = compiled(
  'before, row',
  `[before, row.chain, row.seq, row.at, ${membersOf(namesOf(auditColumns.filter(({ hashed }) => hashed === 'first')))}]`,
) as (before: string, row: Unhashed) => unknown[]

const named = namesOf(auditColumns.filter(({ hashed }) => hashed === undefined))

/** The members of the hash that have names; undefined if all are null. */
export const hashedByName = compiled(
  'row',
  `${named.map((name) => `row.${name} === null`).join(' && ')} ? undefined
    : { ${named.map((name) => `...(row.${name} !== null && { ${name}: row.${name} })`).join(', ')} }`,
) as (row: Unhashed) => object | undefined

/** The values of a row as its table has them, with the number of its chain. */
export const storedValues = compiled(
  'chain, row',
  `[chain, row.seq, row.at, ${membersOf(namesOf(auditColumns))}, row.hash]`,
) as (chain: number, row: ChainRow) => unknown[]

/** The columns in the order of JSON. */
const inJson = auditColumns
  .filter(({ follows }) => follows === undefined)
  .flatMap((column) => [column, ...auditColumns.filter(({ follows }) => follows === column.name)])

const shownValue = ({ name, type }: { readonly name: string; readonly type: AuditColumn['type'] }): string =>
  type === 'millionths' ? `row.${name} === null ? null : row.${name} / 1e6` : `row.${name}`

/** A row as it is shown and exported. */
export const shownRow = compiled(
  'row',
  `({
    id: row.chain + ':' + row.seq,
    time: new Date(row.at).toISOString(),
    ${inJson.map((column) => `${column.shown}: ${shownValue(column)},`).join('\n    ')}
    hash: row.hash,
  })`,
) as (row: ChainRow) => AuditRow
