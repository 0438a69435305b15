import type { Era, McpServer } from '../mcp-server.ts'

const variant = (id: string, name: string, era: Era): McpServer => ({
  id,
  name,
  by: 'serveHttp',
  era,
  async listen(handler) {
    const { toolyard, weatherTool } = await import('../../toolyard.ts')
    const { serveHttp } = await import('../../../src/mcp/server/fixtures/serve-http.ts')
    const { ToolServer } = await import('../../../src/mcp/server/tool-server.ts')
    const manager = await toolyard([weatherTool()], { weather: handler })
    const registry = manager.getRegistry()
    return serveHttp(new ToolServer({ registry, executor: manager.getExecutor(), version: '1.0.0' }), { port: 0 })
  },
})

export const toolyardSession = variant('toolyard-session', 'Toolyard', 'session')
export const toolyardStateless = variant('toolyard-stateless', 'Toolyard, stateless', 'stateless')
