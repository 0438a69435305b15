import type { Log } from '../core/log.ts'
import type { KnowledgeStore } from '../core/storage/knowledge-store.ts'
import type { Storage } from '../core/storage/storage.ts'
import { openCommandStore } from './open-command-store.ts'

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
      this.#storage ??= openCommandStore(this.#log).catch((error: unknown) => {
        this.#storage = undefined
        throw error
      })
    }
    return (await this.#storage)?.knowledge
  }

  async close(): Promise<void> {
    await (await this.#storage)?.close()
  }
}
