import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Seal } from './ledger-tables.ts'

/** Closes a stretch with the installation's key. */
export const sealed = (key: string, seal: Omit<Seal, 'mac'>): Seal => ({ ...seal, mac: sealMac(key, seal) })

/** Whether the seal was made with this key and has not been changed since. */
export const isGenuine = (key: string, seal: Seal): boolean => {
  const [given, right] = [Buffer.from(String(seal.mac)), Buffer.from(sealMac(key, seal))]
  return given.length === right.length && timingSafeEqual(given, right)
}

/**
 * HMAC-SHA-256, in hexadecimal, of the word `seal`, a space, and one JSON array of all fields but the MAC. The word
 * makes it a text that is no JSON: whoever can have parameters hashed with the same key cannot have a seal made so.
 */
function sealMac(key: string, seal: Omit<Seal, 'mac'>): string {
  const { chain, fromSeq, toSeq, beforeHash, lastHash, firstAt, lastAt, sealedAt, expiredAt } = seal
  const fields = [chain, fromSeq, toSeq, beforeHash, lastHash, firstAt, lastAt, sealedAt, expiredAt]
  return createHmac('sha256', key)
    .update(`seal ${JSON.stringify(fields)}`)
    .digest('hex')
}
