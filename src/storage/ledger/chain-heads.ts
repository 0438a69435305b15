import { appendFile } from 'node:fs/promises'
import { type Log, writeLog } from '../../core/log.ts'
import type { AuditFault, ChainHead } from '../../core/storage/ledger.ts'
import type { ChainRow, Seal } from './ledger-tables.ts'
import type { ChainVisitor } from './verify-chain.ts'

/** Writes the end of every sealed section to the log, and to a file: whoever holds a copy sees later what is missing. */
export class HeadRecords {
  readonly #log: Log
  readonly #file: string | undefined

  constructor(log: Log, file: string | undefined) {
    this.#log = log
    this.#file = file
  }

  /** A failure is logged only: the seal is stored already. */
  async add({ chain, toSeq, lastHash, sealedAt }: Seal): Promise<void> {
    const head: ChainHead = { chain, seq: toSeq, hash: lastHash }
    writeLog(this.#log, 'info', head, 'Audit chain sealed')
    if (this.#file === undefined) return
    const line = JSON.stringify({ ...head, sealed_at: new Date(sealedAt).toISOString() })
    try {
      await appendFile(this.#file, `${line}\n`, { mode: 0o600 })
    } catch (err) {
      writeLog(
        this.#log,
        'error',
        { err, ...head },
        'The end of an audit chain could not be written to TOOLYARD_AUDIT_HEADS',
      )
    }
  }
}

/** Compares the chains in a store with the ends of sections that were stored elsewhere. */
export class HeadCheck implements ChainVisitor {
  /** By chain and position. Two hashes of one position can't both be right. */
  readonly #expected = new Map<string, { readonly head: ChainHead; readonly hashes: Set<string>; isFound: boolean }>()
  readonly #faults = new Map<string, AuditFault>()

  constructor(heads: readonly ChainHead[]) {
    for (const head of heads) {
      const key = keyOf(head.chain, head.seq)
      const known = this.#expected.get(key)
      if (known === undefined) this.#expected.set(key, { head, hashes: new Set([head.hash]), isFound: false })
      else known.hashes.add(head.hash)
    }
  }

  row({ chain, seq, hash }: ChainRow): void {
    this.#compare(chain, seq, hash)
  }

  seal({ chain, toSeq, lastHash }: Seal): void {
    this.#compare(chain, toSeq, lastHash)
  }

  get faults(): AuditFault[] {
    const missing = [...this.#expected.values()].filter(({ isFound }) => !isFound)
    return [
      ...this.#faults.values(),
      ...missing.map(({ head: { chain, seq } }) => {
        return { chain, at: seq, problem: `Row ${seq} was sealed, and is missing: the end of the chain was removed` }
      }),
    ]
  }

  #compare(chain: string, at: number, hash: string): void {
    const key = keyOf(chain, at)
    const expected = this.#expected.get(key)
    if (expected === undefined) return
    expected.isFound = true
    if (expected.hashes.size === 1 && expected.hashes.has(hash)) return
    const problem = `Row ${at} has another hash than when it was sealed: the rows up to it were rewritten`
    this.#faults.set(key, { chain, at, problem })
  }
}

const keyOf = (chain: string, seq: number): string => `${seq} ${chain}`

/** The heads in a file with JSON lines: that of `TOOLYARD_AUDIT_HEADS`, or a log. Other lines are left out. */
export function readHeads(text: string): ChainHead[] {
  return text.split('\n').flatMap((line) => {
    const { chain, seq, hash } = objectIn(line)
    const isHead = typeof chain === 'string' && Number.isSafeInteger(seq) && /^[0-9a-f]{64}$/.test(String(hash))
    return isHead ? [{ chain, seq: Number(seq), hash: String(hash) }] : []
  })
}

function objectIn(line: string): { readonly [Field in keyof ChainHead]?: unknown } {
  try {
    return Object(JSON.parse(line))
  } catch {
    return {}
  }
}
