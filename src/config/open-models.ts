import type { Environment } from '../core/expand-variables.ts'
import { ModelCatalogue } from '../models/catalogue/model-catalogue.ts'
import { openProvider } from '../models/open-provider.ts'
import type { ProviderSurroundings } from '../models/provider.ts'
import { buildProviders } from './build-providers.ts'
import type { Config } from './config.ts'
import { configuredModels } from './configured-models.ts'

/** The models of a configuration, ready to be asked. */
export async function openModels(
  config: Config,
  around: ProviderSurroundings & { readonly env: Environment },
): Promise<ModelCatalogue> {
  const { env, log } = around
  const create = (settings: Parameters<typeof openProvider>[0]) => openProvider(settings, around)
  const providers = await buildProviders(config.providers, { env, log, create })
  return new ModelCatalogue(providers, configuredModels(config), around.clock)
}
