import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ConfigError } from '../../config/check-config.ts'
import type { Environment } from '../../core/environment.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'

const KEY_VARIABLE = 'TOOLYARD_ENCRYPTION_KEY'
const FILE_VARIABLE = 'TOOLYARD_ENCRYPTION_KEY_FILE'
/** 32 bytes as base64. Hexadecimal digits, which are base64 as well, need more. */
const BASE64_KEY = /^[\w+/-]{43,}={0,2}$/
const SHORT_HEX_KEY = /^[0-9a-f]{1,63}$/i
const MAX_KEYS = 16
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** JSON never starts with it. */
const PREFIX = 'sealed'

/** Encrypts texts with AES-256-GCM. Without a key, texts stay as they are. */
export class TextSeal {
  /** By the id that names a key without revealing it. */
  readonly #keys = new Map<string, Buffer>()
  /** The id of the key that encrypts; undefined without one. */
  readonly keyId: string | undefined

  /** The keys as text, separated by commas or white space. The first encrypts, all decrypt. */
  constructor(keys: string | undefined, source: string = KEY_VARIABLE) {
    const texts = keys?.split(/[\s,]/).filter((text) => text !== '') ?? []
    if (keys !== undefined && (texts.length === 0 || texts.length > MAX_KEYS)) {
      throw new ConfigError(`${source} has ${texts.length} keys: use 1 to ${MAX_KEYS}`)
    }
    for (const [at, text] of texts.entries()) {
      if (!BASE64_KEY.test(text) || SHORT_HEX_KEY.test(text)) {
        const place = texts.length === 1 ? source : `Key ${at + 1} in ${source}`
        // The value is a secret, so only its length is shown.
        const problem = `${place} has ${text.length} characters that are not 32 or more bytes in base64 or hex`
        throw new ConfigError(`${problem}. Create one with "openssl rand -base64 32"`)
      }
      const key = Buffer.from(hkdfSync('sha256', text, '', 'toolyard sealed text', 32))
      this.#keys.set(hash('sha256', key).slice(0, 8), key)
    }
    this.keyId = this.#keys.keys().next().value
  }

  /** With the keys in `TOOLYARD_ENCRYPTION_KEY`, or in the file that `TOOLYARD_ENCRYPTION_KEY_FILE` names. */
  static from(env: Environment): TextSeal {
    const { [KEY_VARIABLE]: keys, [FILE_VARIABLE]: file } = env
    if (!file) return new TextSeal(keys || undefined)
    if (keys) throw new ConfigError(`${KEY_VARIABLE} and ${FILE_VARIABLE} are both set: set one of them`)
    return new TextSeal(readKeyFile(file), `The file ${file} (${FILE_VARIABLE})`)
  }

  /** `place` is where the text belongs: it can't be opened elsewhere. */
  seal(text: string, place: string): string {
    const { keyId } = this
    if (keyId === undefined) return text
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#keys.get(keyId) as Buffer, nonce).setAAD(Buffer.from(place))
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `${PREFIX}.${keyId}.${sealed.toString('base64')}`
  }

  /** Throws if the text was sealed with another key or for another place, or was changed. */
  open(text: string, place: string): string {
    if (!text.startsWith(`${PREFIX}.`)) return text
    const [, id = '', data = ''] = text.split('.')
    const key = this.#keys.get(id)
    if (key === undefined) {
      const message = `Stored data is encrypted with the key '${id}': add that key to ${KEY_VARIABLE}, after the newest`
      throw new ToolExecutionError('SERVICE_UNAVAILABLE', message)
    }
    const sealed = Buffer.from(data, 'base64')
    try {
      const cipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), {
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

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(`The file ${file} (${FILE_VARIABLE}) cannot be read: ${code}`)
  }
}
