import {
  type Config,
  type Handler,
  type IsolatedHandler,
  type Parts,
  silentLog,
  type ToolDefinition,
  ToolHandlers,
  ToolManager,
} from '../src/index.ts'
import { DESCRIPTION, NAME, SCHEMA } from './weather.ts'

/** The weather tool as Toolyard is told of it; `more` overrides or adds keys. */
export const weatherTool = (more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: NAME,
  description: DESCRIPTION,
  parameters: SCHEMA,
  implementation: { type: 'internal', handler: 'weather' },
  ...more,
})

/** A manager with these tools loaded, assembled as an embedding application would. */
export async function toolyard(
  tools: readonly ToolDefinition[],
  code: Readonly<Record<string, Handler | IsolatedHandler>>,
  options: Omit<Parts, 'handlers'> = {},
  more: Config = {},
): Promise<ToolManager> {
  const handlers = new ToolHandlers()
  for (const [name, handler] of Object.entries(code)) handlers.register(name, handler)
  const config = { ...more, tools: { enabled: true, registry: [...tools] } }
  const manager = new ToolManager(config, { log: silentLog, ...options, handlers })
  await manager.loadTools()
  return manager
}
