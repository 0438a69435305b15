import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'
import { ToolExecutionError } from '../core/tool-result.ts'

const MIN_KEY_LENGTH = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** JSON never starts with it. */
const PREFIX = 'sealed'

/** Encrypts texts with AES-256-GCM. Without a key, texts stay as they are. */
export class TextSeal {
  readonly #key: Buffer | undefined
  /** Names the key without revealing it. */
  readonly #id: string

  /** `TOOLYARD_ENCRYPTION_KEY`. */
  constructor(key: string | undefined) {
    if (key !== undefined && key.length < MIN_KEY_LENGTH) {
      throw new TypeError(
        `TOOLYARD_ENCRYPTION_KEY has ${key.length} characters: use at least ${MIN_KEY_LENGTH} random ones`,
      )
    }
    this.#key = key === undefined ? undefined : Buffer.from(hkdfSync('sha256', key, '', 'toolyard sealed text', 32))
    this.#id = this.#key === undefined ? '' : hash('sha256', this.#key).slice(0, 8)
  }

  /** `place` is where the text belongs: it can't be opened elsewhere. */
  seal(text: string, place: string): string {
    if (this.#key === undefined) return text
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(place))
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `${PREFIX}.${this.#id}.${sealed.toString('base64')}`
  }

  /** Throws if the text was sealed with another key or for another place, or was changed. */
  open(text: string, place: string): string {
    if (!text.startsWith(`${PREFIX}.`)) return text
    const [, id, data = ''] = text.split('.')
    if (this.#key === undefined || id !== this.#id) {
      const message = `Stored data is encrypted with the key '${id}': set TOOLYARD_ENCRYPTION_KEY to that key`
      throw new ToolExecutionError('SERVICE_UNAVAILABLE', message)
    }
    const sealed = Buffer.from(data, 'base64')
    try {
      const cipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      cipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(-TAG_BYTES))
      const opened = cipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES))
      return Buffer.concat([opened, cipher.final()]).toString('utf8')
    } catch (cause) {
      const message = 'Stored data was changed, and cannot be decrypted'
      throw new ToolExecutionError('SERVICE_UNAVAILABLE', message, {}, { cause })
    }
  }
}
