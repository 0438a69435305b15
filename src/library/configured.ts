import type { Config } from '../config/config.ts'
import { type CreateToolyard, type OpenConfigured, toolyardCreator } from './toolyard.ts'

/** Reads configurations, and knows the models of all providers. */
const openConfigured: OpenConfigured<Config | string> = async (given = {}, parts) => {
  const [{ ToolManager }, { loadConfigFile }] = await Promise.all([
    import('../app/tool-manager.ts'),
    import('../config/load-config.ts'),
  ])
  const config = typeof given === 'string' ? (await loadConfigFile(given)).config : given
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
