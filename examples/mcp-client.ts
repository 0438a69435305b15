// A client of the official MCP SDK calls tools of Toolyard. Run it: npx node -C toolyard-source examples/mcp-client.ts
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { tool } from 'toolyard'
import { serve } from 'toolyard/server'
import { z } from 'zod'

const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string().min(2) }),
  effect: 'read',
  execute: ({ city }) => ({ city, degrees: 22 }),
})
await using server = await serve({ tools: [forecast], port: 0 })

const client = new Client({ name: 'example', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)))
const { tools } = await client.listTools()
console.log('tools:', tools.map(({ name }) => name).join(', '))
const { structuredContent } = await client.callTool({ name: 'forecast', arguments: { city: 'Paris' } })
console.log('result:', structuredContent)
const { content, isError } = await client.callTool({ name: 'forecast', arguments: { city: 'P' } })
console.log('failure:', isError, content)
await client.close()
