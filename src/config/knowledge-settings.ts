import { splitModelId } from '../models/catalogue/split-model-id.ts'
import type { Config } from './config.ts'
import { CANNOT_WRITE } from './provider-types.ts'

/** What `knowledge.embedder` is where no vectors are wanted. */
export const NO_EMBEDDER = 'none'

/** The type of the provider of a model. */
export function typeOf({ providers = {} }: Config, model: string): string | undefined {
  const provider = splitModelId(model)?.provider ?? ''
  return (Object.hasOwn(providers, provider) ? providers[provider]?.type : undefined) ?? provider
}

/** The models that a configuration names, in the order in which the knowledge tools would ask them. */
export function namedModels({ knowledge, responses = [], models = [] }: Config): readonly string[] {
  return [
    ...(knowledge?.model === undefined ? [] : [knowledge.model]),
    ...responses.map(({ llm, model }) => `${llm}:${model}`),
    ...models.map(({ id }) => id),
  ]
}

/** The model that the knowledge tools ask: the first that can write; undefined where none can. */
export const knowledgeModel = (config: Config): string | undefined =>
  namedModels(config).find((id) => !CANNOT_WRITE.has(typeOf(config, id) ?? ''))
