import type { Config } from '../../config/config.ts'
import { NO_EMBEDDER } from '../../config/model-settings.ts'
import type { Clock } from '../../core/clock.ts'
import { dataFolder, type Environment } from '../../core/environment.ts'
import type { Log } from '../../core/log.ts'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { Collections } from '../../knowledge/collections/collections.ts'
import type { TemporaryStore } from '../../knowledge/collections/open-temporary-store.ts'
import type { Embedder } from '../../knowledge/embedding/embedder.ts'
import { findLocalModel, LOCAL_MODEL, LOCAL_PROVIDER } from '../../knowledge/embedding/local-model.ts'
import { providerSettings } from './providers.ts'

/** Opens the store of the collections. Undefined: they live as long as this process. */
export type OpenKnowledge = (use: 'read' | 'write') => Promise<KnowledgeStore | undefined>

interface KnowledgeOptions {
  readonly open?: OpenKnowledge
  /** Replaces the configured embedder. Its owner closes it. */
  readonly embedder?: Embedder
  readonly env: Environment
  readonly log: Log
  readonly clock: Clock
}

/** The collections of a configuration. Store and embedder are opened on first use. */
export class Knowledge {
  readonly collections: Collections
  /** Opens the embedder on first use; undefined if there is none. */
  readonly embedder: () => Promise<Embedder | undefined>
  readonly #config: Config
  readonly #options: KnowledgeOptions
  #temporary: Promise<TemporaryStore> | undefined
  #embedder: Promise<Embedder | undefined> | undefined

  constructor(config: Config, options: KnowledgeOptions) {
    this.#config = config
    this.#options = options
    const { log, clock, embedder } = options
    this.embedder = embedder === undefined ? () => this.#openEmbedder() : async () => embedder
    this.collections = new Collections({
      store: (use) => this.#store(use),
      embedder: this.embedder,
      log,
      clock,
    })
  }

  async close(): Promise<void> {
    await this.collections.close()
    const [embedder, temporary] = await Promise.allSettled([this.#embedder, this.#temporary])
    await Promise.all([
      embedder.status === 'fulfilled' && embedder.value?.close(),
      temporary.status === 'fulfilled' && temporary.value?.close(),
    ])
  }

  async #store(use: 'read' | 'write'): Promise<KnowledgeStore> {
    const stored = await this.#options.open?.(use)
    if (stored !== undefined) return stored
    this.#temporary ??= import('../../knowledge/collections/open-temporary-store.ts').then(({ openTemporaryStore }) =>
      openTemporaryStore(this.#options),
    )
    return (await this.#temporary).knowledge
  }

  /** A failed attempt is not remembered: the next use tries again. */
  #openEmbedder(): Promise<Embedder | undefined> {
    this.#embedder ??= this.#findEmbedder().catch((error: unknown) => {
      this.#embedder = undefined
      throw error
    })
    return this.#embedder
  }

  async #findEmbedder(): Promise<Embedder | undefined> {
    const { env, log, clock } = this.#options
    const { knowledge, providers = {} } = this.#config
    const data = dataFolder(env)
    const found = () => (findLocalModel(data) === undefined ? NO_EMBEDDER : `${LOCAL_PROVIDER}:${LOCAL_MODEL}`)
    const id = knowledge?.embedder ?? found()
    if (id === NO_EMBEDDER) return undefined
    const { openEmbedder } = await import('../../knowledge/embedding/open-embedder.ts')
    const named = Object.entries(providers).filter(([name]) => id.startsWith(`${name}:`))
    const settings = named.map(([name, provider]) => providerSettings(name, provider, env))
    return openEmbedder(id, { providers: settings, dataFolder: data, log, clock })
  }
}
