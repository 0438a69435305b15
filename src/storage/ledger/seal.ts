import { createHmac, timingSafeEqual } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { GENESIS, rowHash } from './chain-row.ts'
import type { ChainRow, LedgerTables, Seal } from './ledger-tables.ts'

/** Closes a stretch with the installation's key. */
export const sealed = (key: string, seal: Omit<Seal, 'mac'>): Seal => ({ ...seal, mac: sealMac(key, seal) })

/** Whether the seal was made with this key and has not been changed since. */
export const isGenuine = (key: string, seal: Seal): boolean => {
  const [given, right] = [Buffer.from(String(seal.mac)), Buffer.from(sealMac(key, seal))]
  return given.length === right.length && timingSafeEqual(given, right)
}

/**
 * HMAC-SHA-256, in hexadecimal, of the word `seal`, a space, and one JSON array of all fields but the MAC. The word
 * makes it invalid JSON, so that nobody can obtain a seal by having parameters hashed with the same key.
 */
function sealMac(key: string, seal: Omit<Seal, 'mac'>): string {
  const { chain, fromSeq, toSeq, beforeHash, lastHash, firstAt, lastAt, sealedAt, expiredAt } = seal
  const fields = [chain, fromSeq, toSeq, beforeHash, lastHash, firstAt, lastAt, sealedAt, expiredAt]
  return createHmac('sha256', key)
    .update(`seal ${JSON.stringify(fields)}`)
    .digest('hex')
}

/** Stores a seal; false if another server has stored one that begins at the same row. */
export type AddSeal = (seal: Seal) => Promise<boolean>

/** A stretch is removed in one transaction: that many rows take a fraction of a second. */
export const MAX_ROWS_IN_STRETCH = 50_000
const PAGE = 1_000

/**
 * Seals the rows of a chain after its last seal, as far as their hashes match. Several servers may do so at once: of
 * two seals that begin at the same row, one is stored. Returns the first row that does not match, if there is one.
 */
export async function sealTail(
  tables: LedgerTables,
  key: string,
  chain: string,
  now: () => number,
  addSeal: AddSeal = (seal) => tables.addSeal(seal),
): Promise<number | undefined> {
  for (;;) {
    const last = (await tables.seals(chain)).at(-1)
    if (last !== undefined && !isGenuine(key, last)) return last.fromSeq
    const { rows, broken } = await openRows(tables, chain, last)
    const [first, end] = [rows[0], rows.at(-1)]
    if (first === undefined || end === undefined) return broken
    await addSeal(
      sealed(key, {
        chain,
        fromSeq: first.seq,
        toSeq: end.seq,
        beforeHash: last?.lastHash ?? GENESIS,
        lastHash: end.hash,
        firstAt: rows.reduce((least, { at }) => Math.min(least, at), first.at),
        lastAt: rows.reduce((most, { at }) => Math.max(most, at), first.at),
        sealedAt: now(),
        expiredAt: null,
      }),
    )
    if (broken !== undefined) return broken
  }
}

/** The matching rows after the last seal, up to one stretch, and the first that does not match. */
async function openRows(
  tables: LedgerTables,
  chain: string,
  last: Seal | undefined,
): Promise<{ readonly rows: readonly Pick<ChainRow, 'seq' | 'at' | 'hash'>[]; readonly broken?: number }> {
  const rows: Pick<ChainRow, 'seq' | 'at' | 'hash'>[] = []
  let seq = last?.toSeq ?? 0
  let before = last?.lastHash ?? GENESIS
  while (rows.length < MAX_ROWS_IN_STRETCH) {
    const page = await tables.stretch(chain, seq + 1, PAGE)
    for (const row of page) {
      if (row.seq !== seq + 1 || rowHash(before, row) !== row.hash) return { rows, broken: seq + 1 }
      rows.push({ seq: row.seq, at: row.at, hash: row.hash })
      seq = row.seq
      before = row.hash
    }
    if (page.length < PAGE) break
    await setImmediate()
  }
  return { rows }
}
