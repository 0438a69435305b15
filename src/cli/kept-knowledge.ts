import { randomUUID } from 'node:crypto'
import type { Log } from '../core/log.ts'
import type { KnowledgeStore } from '../core/storage/knowledge-store.ts'
import type { Storage } from '../core/storage/storage.ts'
import { dataFolder } from '../models/model-files/model-folder.ts'

/** How long things are kept is the server's to know: no command removes what is old. */
const KEEP_DAYS = 36_500

/** Where commands keep documents that run without a store: who only searches makes none, who brings something in does. */
export class KeptKnowledge {
  readonly #log: Log
  #storage: Promise<Storage> | undefined

  constructor(log: Log) {
    this.#log = log
  }

  /** Undefined where there is nothing to be found. */
  async open(use: 'read' | 'write'): Promise<KnowledgeStore | undefined> {
    if (use === 'write') {
      this.#storage ??= this.#open().catch((error: unknown) => {
        this.#storage = undefined
        throw error
      })
    }
    return (await this.#storage)?.knowledge
  }

  async close(): Promise<void> {
    await (await this.#storage)?.close()
  }

  async #open(): Promise<Storage> {
    const { openStorage } = await import('../storage/open-storage.ts')
    const { TOOLYARD_DATABASE_URL: url, TOOLYARD_AUDIT_KEY: auditKey } = process.env
    const options = { folder: dataFolder(), instance: randomUUID(), keepDays: KEEP_DAYS }
    return openStorage({ ...options, ...(url && { url }), ...(auditKey && { auditKey }) }, { log: this.#log })
  }
}
