import { hash } from 'node:crypto'
import type { CallEntry } from '../../core/storage/ledger.ts'
import type { ChainRow } from './ledger-tables.ts'
import type { ParamsHasher } from './params-hasher.ts'
import { storableText } from './storable-text.ts'

/** Stands before the first row of every chain. */
export const GENESIS = '0'.repeat(64)

/**
 * The hash of a row: SHA-256, in hexadecimal, of one JSON array without white space in UTF-8. Its members are the hash
 * of the row before (64 zeros before the first), then all fields of the row in this order.
 */
export function rowHash(before: string, row: Omit<ChainRow, 'hash'>): string {
  const { chain, seq, at, tenant, caller, source, runId, tool } = row
  const { schemaHash, paramsHash, outcome, code, durationMs, attempts } = row
  const text = JSON.stringify([
    before,
    chain,
    seq,
    at,
    tenant,
    caller,
    source,
    runId,
    tool,
    schemaHash,
    paramsHash,
    outcome,
    code,
    durationMs,
    attempts,
  ])
  return hash('sha256', text, 'hex')
}

/** The row that a call leaves after the row with the hash `before`. */
export function chainRow(entry: CallEntry, chain: string, seq: number, before: string, hasher: ParamsHasher): ChainRow {
  const row = {
    chain,
    seq,
    at: Math.floor(finite(entry.at)),
    tenant: storableText(entry.tenant),
    caller: storableText(entry.caller),
    source: storableText(entry.source),
    runId: storableText(entry.runId),
    tool: storableText(entry.tool),
    schemaHash: storableText(entry.schemaHash),
    paramsHash: entry.params === null ? null : hasher.hash(entry.params),
    outcome: entry.code === null ? ('success' as const) : entry.unknown ? ('unknown' as const) : ('failure' as const),
    code: entry.code,
    // To the microsecond: more digits say nothing, and are long.
    durationMs: Math.round(finite(entry.durationMs) * 1_000) / 1_000,
    attempts: Math.floor(finite(entry.attempts)),
  }
  return { ...row, hash: rowHash(before, row) }
}

/** One number that is none must not keep a whole batch from being written. */
const finite = (value: number): number => (Number.isFinite(value) ? value : 0)
