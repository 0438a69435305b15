import { type Clock, systemClock } from '../../core/clock.ts'
import { shortened } from '../../core/schema/problem-words.ts'
import { suggest } from '../../core/suggest.ts'
import type { Model } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { ModelScores } from '../model-scores.ts'
import type { ListedModel } from '../provider.ts'
import type { CatalogueProvider } from './catalogue-provider.ts'
import type { ModelInfo } from './model-info.ts'
import { splitModelId } from './split-model-id.ts'
import { UnknownModelError } from './unknown-model-error.ts'

const KEPT_MS = 60_000
/** Long enough that a page full of models asks a dead provider once, short enough to see it come back. */
const FAILURE_KEPT_MS = 5_000
const DEADLINE_MS = 10_000

/** What one provider has, asked for once in a while and by one request for all who want to know. */
class ProviderListing {
  readonly #provider: CatalogueProvider
  readonly #clock: Clock
  #answer: Promise<readonly ListedModel[]> | undefined
  #until = 0
  #latest: readonly ListedModel[] | undefined

  constructor(provider: CatalogueProvider, clock: Clock) {
    this.#provider = provider
    this.#clock = clock
  }

  /** The last list there was, however old. */
  get latest(): readonly ListedModel[] | undefined {
    return this.#latest
  }

  /** The list as it is now, or was a moment ago. Throws a `ModelError`. */
  models(): Promise<readonly ListedModel[]> {
    if (this.#answer === undefined || this.#clock.now() >= this.#until) {
      this.#until = Number.POSITIVE_INFINITY
      this.#answer = this.#ask().then(
        (models) => {
          this.#latest = models
          this.#until = this.#clock.now() + KEPT_MS
          return models
        },
        (error: unknown) => {
          this.#until = this.#clock.now() + FAILURE_KEPT_MS
          throw error
        },
      )
    }
    return this.#answer
  }

  async #ask(): Promise<readonly ListedModel[]> {
    const { name } = this.#provider
    const controller = new AbortController()
    const { promise: late, reject } = Promise.withResolvers<never>()
    const callOff = this.#clock.after(DEADLINE_MS, () => {
      reject(new ModelError(`Provider ${name} did not list its models within ${DEADLINE_MS}ms: is it running?`))
      controller.abort()
    })
    try {
      return await Promise.race([this.#provider.list?.(controller.signal) ?? [], late])
    } catch (error) {
      if (error instanceof ModelError) throw error
      // Whatever it says may hold an address.
      throw new ModelError(`Provider ${name} could not list its models`, { cause: error })
    } finally {
      callOff()
    }
  }
}

/** All models by their id, and what is known of them. */
export class ModelCatalogue {
  readonly #providers: ReadonlyMap<string, CatalogueProvider>
  readonly #configured: ReadonlyMap<string, ModelInfo>
  readonly #listings = new Map<string, ProviderListing>()

  constructor(providers: Iterable<CatalogueProvider>, models: Iterable<ModelInfo> = [], clock: Clock = systemClock) {
    this.#providers = new Map(Array.from(providers, (provider) => [provider.name, provider]))
    this.#configured = new Map(Array.from(models, (model) => [model.id, model]))
    for (const provider of this.#providers.values()) {
      if (provider.list !== undefined) this.#listings.set(provider.name, new ProviderListing(provider, clock))
    }
  }

  /** The names of the providers. */
  get providers(): string[] {
    return [...this.#providers.keys()]
  }

  /** The model with this id; it need not be in `models`. Throws an `UnknownModelError`. */
  get(id: string): Model {
    const { provider, model } = this.#split(id)
    return this.#provider(provider).model(model, this.#configured.get(id))
  }

  /** What is known of a model: by the configuration, else by its provider where that was asked. */
  info(id: string): ModelInfo {
    const { provider, model } = this.#split(id)
    this.#provider(provider)
    const listed = this.#listings.get(provider)?.latest?.find(({ name }) => name === model)
    return this.#info(provider, listed ?? { name: model })
  }

  /** The models of the configuration. */
  list(): ModelInfo[] {
    return [...this.#configured.values()]
  }

  /** What a provider really has; the configured ones where it cannot say. Throws a `ModelError`. */
  async discover(name: string): Promise<ModelInfo[]> {
    this.#provider(name)
    const listing = this.#listings.get(name)
    if (listing === undefined) return this.list().filter(({ id }) => splitModelId(id)?.provider === name)
    return (await listing.models()).map((listed) => this.#info(name, listed))
  }

  /** What a model was measured to do before it was shipped, where that comes with it. */
  async scores(id: string): Promise<ModelScores | undefined> {
    const parts = splitModelId(id)
    return parts && this.#providers.get(parts.provider)?.scores?.(parts.model)
  }

  /** Lets go of what the providers hold. */
  async close(): Promise<void> {
    await Promise.all([...this.#providers.values()].map((provider) => provider.close?.()))
  }

  #info(provider: string, { name, capabilities = [] }: ListedModel): ModelInfo {
    const id = `${provider}:${name}`
    return this.#configured.get(id) ?? { id, name, capabilities }
  }

  #split(id: string): { readonly provider: string; readonly model: string } {
    const parts = splitModelId(id)
    if (parts !== undefined) return parts
    const [near] = suggest(id, this.#configured.keys())
    throw new UnknownModelError(
      `Model '${shortened(id)}' names no provider: write it as provider:model, such as ${near ?? 'openai:gpt-4o'}`,
    )
  }

  #provider(name: string): CatalogueProvider {
    const provider = this.#providers.get(name)
    if (provider !== undefined) return provider
    throw new UnknownModelError(`Provider ${shortened(name)} not found (known: ${this.providers.join(', ')})`)
  }
}
