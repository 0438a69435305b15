import type { ModelInfo } from '../models/catalogue/model-info.ts'
import type { Config } from './config.ts'
import { DEMO_PROVIDER } from './provider-types.ts'

const DEMO_MODEL: ModelInfo = {
  id: `${DEMO_PROVIDER}:rules`,
  name: 'Demo (rules, no language model)',
  capabilities: ['function-calling'],
}

/** The models of a configuration, and the one that needs none. */
export function configuredModels({ models = [], providers = {} }: Config): readonly ModelInfo[] {
  const ours = Object.hasOwn(providers, DEMO_PROVIDER) || models.some(({ id }) => id === DEMO_MODEL.id)
  return ours ? models : [...models, DEMO_MODEL]
}
