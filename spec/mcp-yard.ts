import { type Clock, type Config, ToolManager } from 'toolyard'
import { captureLog } from 'toolyard/testing'
import { onTestFinished } from 'vitest'

export const SERVER = new URL('./household-server.ts', import.meta.url).pathname

/** An entry of `mcpServers` that starts the server of the scenarios. */
export const household = (...args: string[]) => ({ command: process.execPath, args: [SERVER, ...args] })

/** A command that is not there. */
export const missing = { command: 'no-such-mcp-server' }

/** A manager with these MCP servers; it is closed when the test is over. */
export async function mcpYard(mcpServers: Config['mcpServers'], more: { clock?: Clock; registry?: object[] } = {}) {
  const log = captureLog()
  const config: Config = { tools: { enabled: true, registry: more.registry ?? [] }, mcpServers: mcpServers ?? {} }
  const manager = new ToolManager(config, { log, ...(more.clock && { clock: more.clock }) })
  onTestFinished(() => manager.close())
  await manager.loadTools()
  const executor = manager.getExecutor()
  return {
    manager,
    log,
    registry: manager.getRegistry(),
    /** Waits until each server is there or given up. */
    connected: () => manager.getMcpServers().start(),
    execute: (name: string, params: object = {}) => executor.execute(name, params),
    said: () => log.lines.map(({ message }) => message),
  }
}
