import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import type { CallEntry } from '../../core/storage/ledger.ts'
import type { ChainRow } from './ledger-tables.ts'
import { storableText } from './storable-text.ts'

/** Stands before the first row of every chain. */
export const GENESIS = '0'.repeat(64)

/**
 * The hash of a row: SHA-256, in hexadecimal, of one JSON array without white space in UTF-8. Its members are the hash
 * of the row before (64 zeros before the first), then all fields of the row in this order. The model is left out when
 * it is null, so that rows from before it was recorded keep their hash.
 */
export function rowHash(before: string, row: Omit<ChainRow, 'hash'>): string {
  const { chain, seq, at, tenant, caller, source, runId, tool } = row
  const { schemaHash, paramsHash, outcome, code, durationMs, attempts, model } = row
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
    ...(model === null ? [] : [model]),
  ])
  return hash('sha256', text, 'hex')
}

type Texts = Pick<ChainRow, 'tenant' | 'caller' | 'source' | 'runId' | 'tool' | 'model' | 'schemaHash'>

/** Makes the rows of one chain. What a call has in common with the one before it is worked out once. */
export class RowMaker {
  readonly #chain: string
  readonly #chainJson: string
  readonly #hasher: ParamsHasher
  #last: Texts | undefined
  #texts: Texts | undefined
  #textsJson = ''
  #modelJson = ''

  constructor(chain: string, hasher: ParamsHasher) {
    this.#chain = chain
    this.#chainJson = JSON.stringify(chain)
    this.#hasher = hasher
  }

  /** The row that a call leaves after the row with the hash `before`. */
  row(entry: CallEntry, seq: number, before: string): ChainRow {
    const { tenant, caller, source, runId, tool, model, schemaHash } = this.#textsOf(entry)
    const { code } = entry
    const at = Math.floor(finite(entry.at))
    const paramsHash = entry.params === null ? null : this.#hasher.hash(entry.params)
    const outcome = code === null ? 'success' : entry.unknown ? 'unknown' : 'failure'
    // To the microsecond: more digits say nothing, and are long.
    const durationMs = Math.round(finite(entry.durationMs) * 1_000) / 1_000
    const attempts = Math.floor(finite(entry.attempts))
    // The same as in `rowHash`, which has to do with rows of anybody: hashes and outcomes of our own need no escaping.
    const params = paramsHash === null ? 'null' : `"${paramsHash}"`
    const end = `"${outcome}",${code === null ? 'null' : JSON.stringify(code)},${durationMs},${attempts}${this.#modelJson}`
    const text = `["${before}",${this.#chainJson},${seq},${at},${this.#textsJson},${params},${end}]`
    return {
      chain: this.#chain,
      seq,
      at,
      tenant,
      caller,
      source,
      runId,
      tool,
      model,
      schemaHash,
      paramsHash,
      outcome,
      code,
      durationMs,
      attempts,
      hash: hash('sha256', text, 'hex'),
    }
  }

  #textsOf(entry: CallEntry): Texts {
    if (this.#texts !== undefined && this.#last !== undefined && haveSameTexts(entry, this.#last)) return this.#texts
    const tenant = storableText(entry.tenant)
    const caller = storableText(entry.caller)
    const source = storableText(entry.source)
    const runId = storableText(entry.runId)
    const tool = storableText(entry.tool)
    const model = storableText(entry.model)
    const schemaHash = storableText(entry.schemaHash)
    this.#last = entry
    this.#texts = { tenant, caller, source, runId, tool, model, schemaHash }
    this.#modelJson = model === null ? '' : `,${JSON.stringify(model)}`
    this.#textsJson = JSON.stringify([tenant, caller, source, runId, tool, schemaHash]).slice(1, -1)
    return this.#texts
  }
}

const haveSameTexts = (a: Texts, b: Texts): boolean =>
  a.tool === b.tool &&
  a.tenant === b.tenant &&
  a.caller === b.caller &&
  a.source === b.source &&
  a.runId === b.runId &&
  a.model === b.model &&
  a.schemaHash === b.schemaHash

/** One number that is none must not keep a whole batch from being written. */
const finite = (value: number): number => (Number.isFinite(value) ? value : 0)

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
