import type { Clock } from '../../core/clock.ts'
import { ModelError } from '../model-error.ts'
import type { ListedModel } from '../provider.ts'
import type { CatalogueProvider } from './catalogue-provider.ts'

const KEPT_MS = 60_000
/** Long enough that a page full of models asks a dead provider once, short enough to see it come back. */
const FAILURE_KEPT_MS = 5_000
const DEADLINE_MS = 10_000

/** What one provider has, asked for once in a while and by one request for all who want to know. */
export class ProviderListing {
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
