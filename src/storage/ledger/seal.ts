import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Seal } from './ledger-tables.ts'

/**
 * Closes a stretch with the installation's key. The number, by default that of the seal, counts the seals of all
 * chains. It stands before the MAC; those of earlier versions have none.
 */
export function sealed(key: string, seal: Omit<Seal, 'mac'> & Partial<Seal>, number = numberOf(seal)): Seal {
  const { chain, fromSeq, toSeq, beforeHash, lastHash, firstAt, lastAt, sealedAt, expiredAt } = seal
  const fields = [chain, fromSeq, toSeq, beforeHash, lastHash, firstAt, lastAt, sealedAt, expiredAt]
  if (number === undefined) return { ...seal, mac: mac(key, 'seal', fields) }
  return { ...seal, mac: `${number}:${mac(key, 'seal', [...fields, number])}` }
}

/** Whether the seal was made with this key and has not been changed since. */
export const isGenuine = (key: string, seal: Seal): boolean => isSame(String(seal.mac), sealed(key, seal).mac)

/** The number of a seal; undefined if it has none. */
export function numberOf({ mac }: Partial<Seal>): number | undefined {
  const number = /^([1-9]\d{0,14}):/.exec(String(mac))?.[1]
  return number === undefined ? undefined : Number(number)
}

/**
 * HMAC-SHA-256, in hexadecimal, of a word, a space, and one JSON array. The word makes it invalid JSON, so that nobody
 * can obtain a seal by having parameters hashed with the same key.
 */
const mac = (key: string, word: string, fields: readonly unknown[]): string =>
  createHmac('sha256', key)
    .update(`${word} ${JSON.stringify(fields)}`)
    .digest('hex')

function isSame(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** How many seals were made, in all chains, as the text that is stored. */
export const sealRecord = (key: string, seals: number): string =>
  JSON.stringify({ seals, mac: mac(key, 'seals', [seals]) })

/** The number in a record; undefined if it was changed, or created without the key. */
export function readSealRecord(key: string, record: string): number | undefined {
  try {
    const { seals } = JSON.parse(record)
    return Number.isSafeInteger(seals) && isSame(record, sealRecord(key, seals)) ? seals : undefined
  } catch {
    return undefined
  }
}
