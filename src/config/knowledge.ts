import type { Clock } from '../core/clock.ts'
import type { Environment } from '../core/expand-variables.ts'
import type { Log } from '../core/log.ts'
import type { KnowledgeStore } from '../core/storage/knowledge-store.ts'
import { Collections } from '../knowledge/collections/collections.ts'
import type { TemporaryStore } from '../knowledge/collections/open-temporary-store.ts'
import type { Embedder } from '../knowledge/embedding/embedder.ts'
import { findLocalModel, LOCAL_MODEL, LOCAL_PROVIDER } from '../knowledge/embedding/local/local-model.ts'
import { dataFolder } from '../models/model-files/model-folder.ts'
import { providerSettings } from './build-providers.ts'
import type { Config } from './config.ts'
import { NO_EMBEDDER } from './knowledge-settings.ts'

/** Where knowledge is kept; undefined where it need not outlive this process. `write`: something is to be kept. */
export type OpenKnowledge = (use: 'read' | 'write') => Promise<KnowledgeStore | undefined>

interface Surroundings {
  readonly open?: OpenKnowledge
  /** Instead of the configured one; who brings it closes it. */
  readonly embedder?: Embedder
  readonly env: Environment
  readonly log: Log
  readonly clock: Clock
}

/** The collections of a configuration, and what is opened for them: nothing before it is used. */
export class Knowledge {
  readonly collections: Collections
  readonly #config: Config
  readonly #around: Surroundings
  #temporary: Promise<TemporaryStore> | undefined
  #embedder: Promise<Embedder | undefined> | undefined

  constructor(config: Config, around: Surroundings) {
    this.#config = config
    this.#around = around
    const { log, clock, embedder } = around
    this.collections = new Collections({
      store: (use) => this.#store(use),
      embedder: embedder === undefined ? () => this.#openEmbedder() : async () => embedder,
      log,
      clock,
    })
  }

  async close(): Promise<void> {
    const [embedder, temporary] = await Promise.allSettled([this.#embedder, this.#temporary])
    await Promise.all([
      embedder.status === 'fulfilled' && embedder.value?.close(),
      temporary.status === 'fulfilled' && temporary.value?.close(),
    ])
  }

  async #store(use: 'read' | 'write'): Promise<KnowledgeStore> {
    const kept = await this.#around.open?.(use)
    if (kept !== undefined) return kept
    this.#temporary ??= import('../knowledge/collections/open-temporary-store.ts').then(({ openTemporaryStore }) =>
      openTemporaryStore(this.#around),
    )
    return (await this.#temporary).knowledge
  }

  /** Where that fails, the next who needs it tries again. */
  #openEmbedder(): Promise<Embedder | undefined> {
    this.#embedder ??= this.#findEmbedder().catch((error: unknown) => {
      this.#embedder = undefined
      throw error
    })
    return this.#embedder
  }

  async #findEmbedder(): Promise<Embedder | undefined> {
    const { env, log, clock } = this.#around
    const { knowledge, providers = {} } = this.#config
    const data = dataFolder(env)
    const found = () => (findLocalModel(data) === undefined ? NO_EMBEDDER : `${LOCAL_PROVIDER}:${LOCAL_MODEL}`)
    const id = knowledge?.embedder ?? found()
    if (id === NO_EMBEDDER) return undefined
    const { openEmbedder } = await import('../knowledge/embedding/open-embedder.ts')
    const named = Object.entries(providers).filter(([name]) => id.startsWith(`${name}:`))
    const settings = named.map(([name, provider]) => providerSettings(name, provider, env))
    return openEmbedder(id, { providers: settings, dataFolder: data, log, clock })
  }
}
