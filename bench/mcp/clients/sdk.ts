import { NAME, PARAMS } from '../../weather.ts'
import type { McpClient } from '../mcp-client.ts'
import { STDIO_COMMAND } from '../stdio-command.ts'

/** The SDK's client over the SDK's transport, with nothing set. */
export const sdk: McpClient = {
  id: 'sdk',
  name: 'MCP SDK',
  call: 'client.callTool()',
  package: '@modelcontextprotocol/client',
  async connect() {
    const { Client } = await import('@modelcontextprotocol/client')
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
    const client = new Client({ name: 'bench', version: '1.0.0' })
    await client.connect(new StdioClientTransport(STDIO_COMMAND))
    await client.listTools()
    return {
      call: () => client.callTool({ name: NAME, arguments: PARAMS }),
      close: () => client.close(),
    }
  },
}
