import { type Config, type JsonSchema, type ToolDefinition, ToolHandlers } from 'toolyard'
import { searchFiles } from './search-files.ts'
import type { Settings } from './settings.ts'
import { openMixer, volumeHandler } from './volume.ts'

/** What `search` is over where the knowledge collections of Toolyard are wanted. */
const COLLECTIONS = 'collections'

/** The handlers of the tools that need no server; `datetime` is one of Toolyard's own. */
export function localHandlers({ documents }: Settings, volumeChanged: (level: number) => void): ToolHandlers {
  const handlers = new ToolHandlers()
  handlers.register('search_files', searchFiles(documents), { effect: 'read' })
  const volume = openMixer().then((mixer) => volumeHandler(mixer, volumeChanged))
  handlers.register('volume', async (params, context) => (await volume)(params, context), { effect: 'write' })
  return handlers
}

/** The configuration as it is in this house: its time zone, and `search` over the collections where the settings say so. */
export function localConfig(config: Config, { documents }: Settings): Config {
  const registry = (config.tools?.registry ?? []).map((tool) => {
    const { name, parameters, ...rest } = tool as ToolDefinition
    if (name === 'datetime') return { name, parameters: withZone(parameters), ...rest }
    if (name !== 'search' || documents !== COLLECTIONS) return tool
    return { name, parameters, ...rest, implementation: { type: 'internal', handler: 'rag_query' } }
  })
  return { ...config, tools: { ...config.tools, registry } }
}

function withZone(parameters: JsonSchema): JsonSchema {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const { timezone, ...others } = Object(parameters.properties) as Record<string, object>
  return { ...parameters, properties: { ...others, timezone: { ...timezone, default: timeZone } } }
}
