import type { Model } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { CatalogueProvider } from './catalogue-provider.ts'

/** A provider that lacks something: it is there, and its models answer with the sentence that says what. */
export function disabledProvider(name: string, problem: string): CatalogueProvider {
  return {
    name,
    model: (model): Model => ({
      id: `${name}:${model}`,
      // biome-ignore lint/correctness/useYield: it has nothing to give
      async *stream() {
        throw new ModelError(problem)
      },
    }),
    list: async () => {
      throw new ModelError(problem)
    },
  }
}
