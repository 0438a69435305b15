import type { Config } from '../config/config.ts'
import { type CreateToolyard, type OpenConfigured, toolyardCreator } from './toolyard.ts'

/** Reads configurations, and knows the models of all providers. */
const openConfigured: OpenConfigured<Config | string> = async (given, parts, model) => {
  const [{ ToolManager }, { loadConfigFile }, { usualProviders }] = await Promise.all([
    import('../app/tool-manager.ts'),
    import('../config/load-config.ts'),
    import('../config/model-settings.ts'),
  ])
  const config: Config =
    typeof given === 'string'
      ? (await loadConfigFile(given)).config
      : (given ?? { providers: usualProviders([model ?? '']) })
  if (typeof config !== 'object' || config === null) {
    throw new TypeError(`config must be a configuration or the name of its file, not ${String(config)}`)
  }
  const manager = new ToolManager({ ...config, tools: { enabled: true, ...config.tools } }, parts)
  await manager.loadTools()
  return {
    registry: manager.getRegistry(),
    executor: manager.getExecutor(),
    loop: async () => manager.getLoop(),
    async configured(id) {
      const models = await manager.getModels()
      return { model: models.get(id), prices: models.info(id).prices }
    },
    close: () => manager.close(),
  }
}

export const createToolyard: CreateToolyard<Config | string> = toolyardCreator(openConfigured)
