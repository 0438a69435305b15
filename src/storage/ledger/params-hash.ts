import { createHmac } from 'node:crypto'
import { canonicalText } from '../../core/schema/canonical-text.ts'

/**
 * HMAC-SHA-256, in hexadecimal, of the canonical JSON (RFC 8785) of parameters that are given as JSON text; null where
 * that cannot be read.
 */
export function paramsHash(key: string, params: string): string | null {
  try {
    return createHmac('sha256', key)
      .update(canonicalText(JSON.parse(params)))
      .digest('hex')
  } catch {
    return null
  }
}
