import type { ModelInfo } from '../models/catalogue/model-info.ts'
import type { Config } from './config.ts'
import { EMBEDDED_MODEL, EMBEDDED_PROVIDER } from './provider-types.ts'

const EMBEDDED: ModelInfo = {
  id: `${EMBEDDED_PROVIDER}:${EMBEDDED_MODEL}`,
  name: 'Mini (comes with Toolyard)',
  capabilities: ['function-calling'],
}

/** The models of a configuration, and at their end the one that needs none. */
export function configuredModels({ models = [], providers = {} }: Config): readonly ModelInfo[] {
  const type = Object.hasOwn(providers, EMBEDDED_PROVIDER) ? providers[EMBEDDED_PROVIDER]?.type : undefined
  const other = type !== undefined && type !== EMBEDDED_PROVIDER
  return other || models.some(({ id }) => id === EMBEDDED.id) ? models : [...models, EMBEDDED]
}
