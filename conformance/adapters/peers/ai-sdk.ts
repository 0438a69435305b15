import { createMCPClient } from '@ai-sdk/mcp'
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio'
import { ToolLoopAgent, type ToolSet, tool } from 'ai'
import { z } from 'zod'
import type { Adapter, McpServer, Runtime, Setup } from '../../adapter.ts'
import { callThroughLoop } from '../../call-through-loop.ts'
import { providerModel } from './scripted-turns.ts'

const connect = (server: McpServer) =>
  createMCPClient({
    transport:
      'url' in server
        ? { type: 'http', url: server.url }
        : new StdioMCPTransport({ command: server.command, args: [...server.args] }),
  })

async function make({ tools, mcpServers, deadlineMs }: Setup): Promise<Runtime> {
  const clients = await Promise.all(Object.values(mcpServers).map(connect))
  const set: ToolSet = {}
  for (const { name, description, parameters, handler } of tools) {
    set[name] = tool({
      description,
      inputSchema: z.fromJSONSchema(parameters) as z.ZodType<Record<string, unknown>>,
      execute: (params: Record<string, unknown>, { abortSignal }) => handler(params, abortSignal),
    })
  }
  for (const client of clients) Object.assign(set, await client.tools())
  const run: Runtime['run'] = async (script, { signal } = {}) => {
    const agent = new ToolLoopAgent({ model: providerModel(script), tools: set })
    const { text } = await agent.generate({
      prompt: 'Go.',
      timeout: { toolMs: deadlineMs },
      ...(signal !== undefined && { abortSignal: signal }),
    })
    return text
  }
  return {
    run,
    call: callThroughLoop(run),
    close: async () => void (await Promise.all(clients.map((client) => client.close()))),
  }
}

export const adapter: Adapter = {
  name: 'AI SDK',
  packages: ['ai', '@ai-sdk/mcp'],
  can: ['loop', 'mcp-stdio', 'mcp-http'],
  make,
}
