import type { CallEntry } from '../../core/storage/ledger.ts'
import type { StoredUsage } from '../../core/storage/quota.ts'
import type { ChainRow } from '../ledger/ledger-tables.ts'
import {
  ADD_BYTES,
  ask,
  DAY_MS,
  type Database,
  type Expiry,
  freeBytes,
  SWEEP_LIMIT,
  USAGE,
  type Work,
} from './database.ts'
import { columnTypes, type Table } from './table.ts'

/** The parameters and results of calls, beside their rows of the audit log. */
export const payloadTable: Table = {
  name: 'payloads',
  since: 20,
  columns: { chain: 'integer', seq: 'bigint', tenant: 'id', at: 'real', bytes: 'bigint', content: 'text' },
  key: 'chain, seq',
  indexes: { payloads_by_time: 'at' },
  large: true,
}

const COLUMNS = columnTypes(payloadTable)
const SWEEP = `
  DELETE FROM toolyard.payloads WHERE (chain, seq) IN (SELECT chain, seq FROM toolyard.payloads WHERE at < ? LIMIT ?)
  RETURNING tenant, bytes`

/** How long payloads are stored. */
const PAYLOAD_DAYS = 7

/** Stores the payloads of calls beside their rows. A tenant that has reached its quota stores no more. */
export function* addPayloads(
  database: Database,
  rows: readonly ChainRow[],
  calls: readonly CallEntry[],
  chains: ReadonlyMap<string, number>,
): Work<void> {
  const found = calls.flatMap(({ payload }, index) => {
    const row = rows[index]
    return payload === undefined || row === undefined
      ? []
      : [{ row, ...payload, bytes: Buffer.byteLength(payload.content) }]
  })
  const byTenant = Map.groupBy(found, ({ row }) => row.tenant)
  // In a fixed order to avoid deadlocks.
  for (const tenant of [...byTenant.keys()].sort()) {
    const { rows: usage } = yield* ask<StoredUsage>(USAGE, [tenant, tenant, tenant, tenant, tenant])
    const before = usage[0]?.storage_bytes ?? 0
    let added = 0
    const stored = (byTenant.get(tenant) ?? []).filter(({ bytes, storageBytes }) => {
      if (before + added + bytes > storageBytes) return false
      added += bytes
      return true
    })
    if (stored.length === 0) continue
    const values = stored.map(({ row, bytes, content }) => [
      ...[chains.get(row.chain), row.seq, tenant, row.at, bytes, content],
    ])
    yield database.insert('toolyard.payloads', COLUMNS, values)
    yield* ask(ADD_BYTES, [tenant, added])
  }
}

export async function sweepPayloads(database: Database, expiry: Expiry): Promise<void> {
  const before = Math.max(expiry.before, expiry.now - PAYLOAD_DAYS * DAY_MS)
  await database.transaction(function* () {
    const { rows } = yield* ask<{ tenant: string; bytes: number }>(SWEEP, [before, SWEEP_LIMIT])
    yield* freeBytes(rows)
  })
}
