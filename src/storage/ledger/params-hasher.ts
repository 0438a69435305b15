import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { canonicalText } from '../../core/schema/canonical-text.ts'

const BLOCK = 64
/** Many calls are made again and again; texts of some length hardly ever are. */
const KNOWN = 1_000
const LONGEST_KNOWN = 500

/**
 * Hashes parameters with the installation's key: HMAC-SHA-256, in hexadecimal, of their canonical JSON (RFC 8785). The
 * two steps of HMAC are done here, since Node's own makes an object for each, which costs twice the time.
 */
export class ParamsHasher {
  #inner: Buffer
  readonly #outer: Buffer
  readonly #known = new LRUCache<string, string>({ max: KNOWN })

  constructor(key: string) {
    const bytes = Buffer.from(key)
    const block = Buffer.alloc(BLOCK)
    block.set(bytes.length > BLOCK ? hash('sha256', bytes, 'buffer') : bytes)
    this.#inner = Buffer.alloc(4_096)
    this.#outer = Buffer.alloc(BLOCK + 32)
    for (let index = 0; index < BLOCK; index++) {
      this.#inner[index] = (block[index] as number) ^ 0x36
      this.#outer[index] = (block[index] as number) ^ 0x5c
    }
  }

  /** Of parameters that are given as JSON text; null where that cannot be read. */
  hash(params: string): string | null {
    if (params.length > LONGEST_KNOWN) return this.#hash(params)
    let known: string | null | undefined = this.#known.get(params)
    if (known === undefined) {
      known = this.#hash(params)
      if (known !== null) this.#known.set(params, known)
    }
    return known
  }

  #hash(params: string): string | null {
    let text: string
    try {
      text = canonicalText(JSON.parse(params))
    } catch {
      return null
    }
    const room = this.#roomFor(text)
    const end = BLOCK + room.write(text, BLOCK)
    this.#outer.write(hash('sha256', room.subarray(0, end), 'binary'), BLOCK, 'binary')
    return hash('sha256', this.#outer, 'hex')
  }

  /** Long texts get room of their own, which is not kept. */
  #roomFor(text: string): Buffer {
    const most = BLOCK + 3 * text.length
    if (most <= this.#inner.length) return this.#inner
    const room = Buffer.allocUnsafe(most)
    this.#inner.copy(room, 0, 0, BLOCK)
    return room
  }
}
