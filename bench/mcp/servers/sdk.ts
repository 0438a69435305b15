import type { RequestListener } from 'node:http'
import { DESCRIPTION, NAME, type WeatherHandler } from '../../weather.ts'
import { listen } from '../listen.ts'
import type { McpServer } from '../mcp-server.ts'
import { weatherResult } from '../weather-result.ts'

/** Makes servers of the SDK with the weather tool in them. */
async function maker(handler: WeatherHandler) {
  const { McpServer: SdkServer } = await import('@modelcontextprotocol/server')
  const { weatherZod } = await import('../../contenders/weather-zod.ts')
  return () => {
    const server = new SdkServer({ name: 'bench', version: '1.0.0' })
    server.registerTool(NAME, { description: DESCRIPTION, inputSchema: weatherZod() }, async () =>
      weatherResult(await handler()),
    )
    return server
  }
}

/** One transport with one session, which is all that the load needs. */
const transport = (enableJsonResponse: boolean) => async (handler: WeatherHandler) => {
  const { NodeStreamableHTTPServerTransport } = await import('@modelcontextprotocol/node')
  const make = await maker(handler)
  const made = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: () => 'bench', enableJsonResponse })
  await make().connect(made)
  return listen((request, response) => void made.handleRequest(request as never, response))
}

const about = { package: '@modelcontextprotocol/server', by: 'NodeStreamableHTTPServerTransport' }

export const sdkJson: McpServer = {
  ...about,
  id: 'sdk-json',
  name: 'MCP SDK, answers as JSON',
  era: 'session',
  listen: transport(true),
}

export const sdkSse: McpServer = {
  ...about,
  id: 'sdk-sse',
  name: 'MCP SDK, answers as events',
  era: 'session',
  listen: transport(false),
}

export const sdkStateless: McpServer = {
  ...about,
  id: 'sdk-stateless',
  name: 'MCP SDK, stateless',
  by: 'createMcpHandler',
  era: 'stateless',
  async listen(handler) {
    const { toNodeHandler } = await import('@modelcontextprotocol/node')
    const { createMcpHandler } = await import('@modelcontextprotocol/server')
    return listen(toNodeHandler(createMcpHandler(await maker(handler))) as RequestListener)
  },
}
