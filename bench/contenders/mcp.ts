import type { Contender } from '../contender.ts'
import { DESCRIPTION, NAME } from '../weather.ts'

export const mcp: Contender = {
  id: 'mcp-sdk',
  name: 'MCP SDK, in memory',
  call: 'client.callTool()',
  package: '@modelcontextprotocol/client',
  deadline: 'always',
  permission: 'no',
  record: 'no',
  async prepare(params, handler) {
    const { Client, InMemoryTransport } = await import('@modelcontextprotocol/client')
    const { McpServer } = await import('@modelcontextprotocol/server')
    const { weatherZod } = await import('./weather-zod.ts')
    const server = new McpServer({ name: 'bench', version: '1.0.0' })
    server.registerTool(NAME, { description: DESCRIPTION, inputSchema: weatherZod() }, async () => ({
      content: [{ type: 'text', text: JSON.stringify(await handler()) }],
    }))
    const client = new Client({ name: 'bench', version: '1.0.0' })
    const [clientSide, serverSide] = InMemoryTransport.createLinkedPair()
    await server.connect(serverSide)
    await client.connect(clientSide)
    return () => client.callTool({ name: NAME, arguments: params })
  },
}
