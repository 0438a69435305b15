import { createHmac, hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { canonicalText } from '../../core/json/canonical-text.ts'
import type { CallEntry, EventEntry } from '../../core/storage/ledger.ts'
import type { ChainRow } from './ledger-tables.ts'
import { filledColumns, firstHashed, hashedByName } from './row-code.ts'
import { storableText } from './storable-text.ts'

/** Stands before the first row of every chain. */
export const GENESIS = '0'.repeat(64)

/**
 * The hash of a row: SHA-256, in hexadecimal, of one JSON array without white space in UTF-8. Its members are the hash
 * of the row before (64 zeros before the first), the place of the row, then its columns. The model is left out when it is
 * null, and so are the columns of events, approvals and nested calls, and an object with the columns that came later, so
 * that rows from before these were recorded keep their hash.
 */
export function rowHash(before: string, row: Omit<ChainRow, 'hash'>): string {
  const fields = firstHashed(before, row)
  const { model, event, subject, detail } = row
  if (model !== null) fields.push(model)
  // An array, so that no model can be taken for an event.
  if (event !== null || subject !== null || detail !== null) fields.push([event, subject, detail])
  const later = hashedByName(row)
  if (later !== undefined) fields.push(later)
  return hash('sha256', JSON.stringify(fields), 'hex')
}

interface Place {
  readonly chain: string
  readonly seq: number
  readonly before: string
}

/** The row of a call, which follows the row with the hash `before`. */
export function chainRow(
  entry: CallEntry,
  { chain, seq, before }: Place,
  hashParams: (params: string) => string | null,
): ChainRow {
  const { code, approval, nesting } = entry
  const askedHash = (params: string | null) => (params === null ? null : hashParams(params))
  const asked = approval && { asked_params_hash: askedHash(approval.params) }
  const row = {
    ...filledColumns(entry),
    chain,
    seq,
    at: Math.floor(finite(entry.at)),
    tool: storableText(entry.tool),
    params_hash: entry.params === null ? null : hashParams(entry.params),
    outcome: code === null ? ('success' as const) : entry.unknown ? ('unknown' as const) : ('failure' as const),
    code,
    // To the microsecond: further digits carry no information.
    duration_ms: Math.round(finite(entry.durationMs) * 1_000) / 1_000,
    attempts: Math.floor(finite(entry.attempts)),
    event: null,
    subject: storableText(approval?.id ?? null),
    detail: approval || nesting ? JSON.stringify({ ...asked, ...nesting }) : null,
    hash: '',
  }
  row.hash = rowHash(before, row)
  return row
}

const NO_CALL = { runId: null, tool: '', model: null, schemaHash: null, code: null, unknown: false, durationMs: 0 }

/** The row of an event. */
export function eventRow(entry: EventEntry, place: Place, hashParams: (params: string) => string | null): ChainRow {
  const { event, subject, detail, failed, count, ...rest } = entry
  const row = {
    ...chainRow({ ...rest, ...NO_CALL, attempts: count }, place, hashParams),
    outcome: failed ? ('failure' as const) : ('success' as const),
    event: storableText(event),
    subject: storableText(subject),
    detail,
  }
  return { ...row, hash: rowHash(place.before, row) }
}

/** One invalid number must not prevent a whole batch from being written. */
const finite = (value: number): number => (Number.isFinite(value) ? value : 0)

/** Many calls are repeated with the same parameters; long parameters hardly ever are. */
const CACHED_HASHES = 1_000
const CACHED_LENGTH_LIMIT = 500

/**
 * Gives a function that hashes parameters, given as JSON text, with the installation's key: HMAC-SHA-256, in
 * hexadecimal, of their canonical JSON (RFC 8785); null if the text is not JSON.
 */
export function paramsHasher(key: string): (params: string) => string | null {
  const known = new LRUCache<string, string>({ max: CACHED_HASHES })
  return (params) => {
    const cached = known.get(params)
    if (cached !== undefined) return cached
    let text: string
    try {
      text = canonicalText(JSON.parse(params))
    } catch {
      return null
    }
    const hashed = createHmac('sha256', key).update(text).digest('hex')
    if (params.length <= CACHED_LENGTH_LIMIT) known.set(params, hashed)
    return hashed
  }
}
