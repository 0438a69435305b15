import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { MCPClient } from '@mastra/mcp'
import { z } from 'zod'
import type { Adapter, Runtime, Setup, Tool } from '../../adapter.ts'
import { callThroughLoop } from '../../call-through-loop.ts'
import { providerModel } from './scripted-turns.ts'

const mastraTool = ({ name, description, parameters, handler }: Tool) =>
  createTool({
    id: name,
    description,
    inputSchema: z.fromJSONSchema(parameters) as z.ZodType<Record<string, unknown>>,
    execute: async (params, context) => handler(params, context?.abortSignal),
  })

async function make({ tools, mcpServers, deadlineMs }: Setup): Promise<Runtime> {
  const servers = Object.entries(mcpServers).map(([name, server]) => [
    name,
    'url' in server ? { url: new URL(server.url) } : { command: server.command, args: [...server.args] },
  ])
  const client =
    servers.length > 0 ? new MCPClient({ servers: Object.fromEntries(servers), timeout: deadlineMs }) : undefined
  const remote = (await client?.listTools()) ?? {}
  const local = Object.fromEntries(tools.map((each) => [each.name, mastraTool(each)]))
  // Tools of servers are named after them: files_echo.
  const toolName = (name: string) => Object.keys(remote).find((each) => each.endsWith(`_${name}`)) ?? name
  const run: Runtime['run'] = async (script, { signal } = {}) => {
    const model = providerModel(script, toolName)
    const agent = new Agent({ id: 'suite', name: 'suite', instructions: 'Go.', model, tools: { ...local, ...remote } })
    const { text } = await agent.generate('Go.', {
      modelSettings: { timeout: { totalMs: deadlineMs } },
      ...(signal !== undefined && { abortSignal: signal }),
    })
    return text
  }
  return { run, call: callThroughLoop(run), close: async () => void (await client?.disconnect()) }
}

export const adapter: Adapter = {
  name: 'Mastra',
  packages: ['@mastra/core', '@mastra/mcp'],
  can: ['loop', 'mcp-stdio', 'mcp-http'],
  make,
}
