import { type Clock, systemClock } from '../core/clock.ts'
import { matchesGlobs, shownGlobs } from '../core/execution/permit.ts'
import { shortened } from '../core/schema/problem-words.ts'
import { suggest } from '../core/suggest.ts'
import { checkPrices } from './check-numbers.ts'
import type { Model } from './model.ts'
import { ModelError, UnknownModelError } from './model-error.ts'
import { type ModelInfo, splitModelId } from './model-info.ts'
import type { ModelScores } from './model-scores.ts'
import { type ListedModel, USUAL_PROVIDER_NAMES } from './provider.ts'

export interface CatalogueProvider {
  readonly name: string
  /** Why it is disabled. */
  readonly problem?: string
  /** Whether it can be asked for its models at any time, at no cost. */
  readonly local?: boolean
  model(name: string, settings?: Partial<ModelInfo>): Model
  /** Absent if the provider can't list its models. */
  list?(signal: AbortSignal): Promise<ListedModel[]>
  scores?(model: string): Promise<ModelScores | undefined>
  embed?(texts: readonly string[], signal: AbortSignal, tenant?: string): Promise<number[][] | undefined>
  close?(): Promise<void>
}

/** Empty if the model can be used. */
export interface Availability {
  readonly available?: false
  /** Why it can't be used, and what to do. */
  readonly reason?: string
}

const LIST_TTL_MS = 60_000
/** A page of models asks a dead provider once, and still sees it come back. */
const FAILURE_TTL_MS = 5_000
const DEADLINE_MS = 10_000

/** Caches the models of one provider and shares pending requests. */
class ProviderListing {
  readonly #provider: CatalogueProvider
  readonly #clock: Clock
  #answer: Promise<readonly ListedModel[]> | undefined
  #until = 0
  #latest: readonly ListedModel[] | undefined
  #problem: string | undefined

  constructor(provider: CatalogueProvider, clock: Clock) {
    this.#provider = provider
    this.#clock = clock
  }

  /** The last list, however old. */
  get latest(): readonly ListedModel[] | undefined {
    return this.#latest
  }

  /** Why the last request failed, if it did. */
  get problem(): string | undefined {
    return this.#problem
  }

  models(): Promise<readonly ListedModel[]> {
    if (this.#answer === undefined || this.#clock.now() >= this.#until) {
      this.#until = Number.POSITIVE_INFINITY
      this.#answer = this.#ask().then(
        (models) => {
          this.#latest = models
          this.#problem = undefined
          this.#until = this.#clock.now() + LIST_TTL_MS
          return models
        },
        (error: ModelError) => {
          this.#problem = error.message
          this.#until = this.#clock.now() + FAILURE_TTL_MS
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
    const cancel = this.#clock.after(DEADLINE_MS, () => {
      reject(new ModelError(`Provider ${name} did not list its models within ${DEADLINE_MS}ms: is it running?`))
      controller.abort()
    })
    try {
      return await Promise.race([this.#provider.list?.(controller.signal) ?? [], late])
    } catch (error) {
      if (error instanceof ModelError) throw error
      // The error may contain an address.
      throw new ModelError(`Provider ${name} could not list its models`, { cause: error })
    } finally {
      cancel()
    }
  }
}

/** Finds models by id and describes them. */
export class ModelCatalogue {
  readonly #providers: ReadonlyMap<string, CatalogueProvider>
  readonly #configured: ReadonlyMap<string, ModelInfo>
  readonly #listings = new Map<string, ProviderListing>()
  readonly #isOffered: (id: string) => boolean

  /** `isOffered`: whether callers with limited rights may use a model of this id. */
  constructor(
    providers: Iterable<CatalogueProvider>,
    models: Iterable<ModelInfo> = [],
    clock: Clock = systemClock,
    isOffered: (id: string) => boolean = () => true,
  ) {
    this.#isOffered = isOffered
    this.#providers = new Map(Array.from(providers, (provider) => [provider.name, provider]))
    this.#configured = new Map(Array.from(models, (model) => [model.id, model]))
    for (const { id, prices } of this.#configured.values())
      if (prices !== undefined) checkPrices(`models ${id}`, prices)
    for (const provider of this.#providers.values()) {
      if (provider.list !== undefined) this.#listings.set(provider.name, new ProviderListing(provider, clock))
    }
  }

  get providers(): string[] {
    return [...this.#providers.keys()]
  }

  /**
   * Without `only`, the model need not be configured. With it, the id must match one of the patterns, and the model must be
   * configured, or its provider must offer any model. Throws an `UnknownModelError`.
   */
  get(id: string, only?: readonly string[]): Model {
    const { provider, model } = this.#split(id)
    if (only !== undefined) this.#check(id, provider, only)
    return this.#provider(provider).model(model, this.info(id))
  }

  /** Uses the configuration, else the provider's last list. */
  info(id: string): ModelInfo {
    const { provider, model } = this.#split(id)
    this.#provider(provider)
    const listed = this.#listings.get(provider)?.latest?.find(({ name }) => name === model)
    return this.#info(provider, listed ?? { name: model })
  }

  /** The configured models that match one of the patterns; by default all. */
  list(only?: readonly string[]): ModelInfo[] {
    return [...this.#configured.values()].filter(({ id }) => only === undefined || matchesGlobs(only, id))
  }

  /** Whether a model can be used, as far as that is known: no provider is asked. */
  availability(id: string): Availability {
    const provider = splitModelId(id)?.provider ?? ''
    const reason = this.#providers.get(provider)?.problem ?? this.#listings.get(provider)?.problem
    return reason === undefined ? {} : { available: false, reason }
  }

  /** Asks the local providers, so that `availability` knows which of them run. Never rejects. */
  async checkLocal(): Promise<void> {
    const local = [...this.#providers.values()].filter((provider) => provider.local)
    await Promise.allSettled(local.map(({ name }) => this.#listings.get(name)?.models()))
  }

  /** Throws an `UnknownModelError` unless the model is configured, or its provider lists it. */
  async requireKnown(id: string, only: readonly string[]): Promise<void> {
    this.get(id, only)
    if (this.#configured.has(id)) return
    const { provider, model } = this.#split(id)
    const listed = this.#listings.get(provider)?.models() ?? Promise.resolve([])
    const models = await listed.catch((error: ModelError) => {
      throw new UnknownModelError(error.message)
    })
    // Ollama adds the tag to names without one.
    if (models.some(({ name }) => name === model || name === `${model}:latest`)) return
    throw new UnknownModelError(`Provider ${provider} has no model '${shortened(model)}'`)
  }

  /** The models of a provider; the configured ones if it can't list them. Throws a `ModelError`. */
  async discover(name: string): Promise<ModelInfo[]> {
    this.#provider(name)
    const listing = this.#listings.get(name)
    if (listing === undefined) return this.list().filter(({ id }) => splitModelId(id)?.provider === name)
    return (await listing.models()).map((listed) => this.#info(name, listed))
  }

  /** Scores measured before the model was shipped, if it has any. */
  async scores(id: string): Promise<ModelScores | undefined> {
    const parts = splitModelId(id)
    return parts && this.#providers.get(parts.provider)?.scores?.(parts.model)
  }

  /** Vectors of short texts by a provider that makes them, such as `mini`; undefined if it doesn't. */
  async embed(
    provider: string,
    texts: readonly string[],
    signal: AbortSignal,
    tenant?: string,
  ): Promise<number[][] | undefined> {
    return this.#providers.get(provider)?.embed?.(texts, signal, tenant)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#providers.values()].map((provider) => provider.close?.()))
  }

  #info(provider: string, { name, capabilities = [] }: ListedModel): ModelInfo {
    const id = `${provider}:${name}`
    return this.#configured.get(id) ?? { id, name, capabilities }
  }

  #check(id: string, provider: string, only: readonly string[]): void {
    if (!matchesGlobs(only, id)) {
      const allowed = shortened(shownGlobs(only))
      throw new UnknownModelError(`Model '${shortened(id)}' is not one of the models of this API key: ${allowed}`)
    }
    this.#provider(provider)
    if (this.#isOffered(id)) return
    throw new UnknownModelError(
      `Model '${shortened(id)}' is not configured: add it to models, or set providers.${provider}.any_model to true`,
    )
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
    throw new UnknownModelError(unknownProvider(name, this.providers))
  }
}

function unknownProvider(name: string, configured: readonly string[]): string {
  const known = `Provider ${shortened(name)} not found (known: ${configured.join(', ')})`
  const others = USUAL_PROVIDER_NAMES.filter((one) => !configured.includes(one))
  const [near] = suggest(name, [...configured, ...others])
  const needed = others.find((one) => one === (near ?? name))
  const add = (one: string): string => `add a model of ${one} to models in the configuration`
  if (near === name) return `${known}: ${add(near)}`
  if (near !== undefined) return `${known}. Did you mean ${near}?${needed === undefined ? '' : ` Then ${add(near)}`}`
  return others.length === 0 ? known : `${known}. ${others.join(', ')} need no entry: ${add('one of them')}`
}

/** Stands for a misconfigured provider: its models fail with `problem`. */
export function disabledProvider(name: string, problem: string): CatalogueProvider {
  return {
    name,
    problem,
    model: (model): Model => ({
      id: `${name}:${model}`,
      // biome-ignore lint/correctness/useYield: it has nothing to give
      async *stream() {
        throw new ModelError(problem, { status: 503 })
      },
    }),
    list: async () => {
      throw new ModelError(problem)
    },
  }
}
