import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
import type { Adapter, Runtime, Setup, Tool } from '../../adapter.ts'
import { callThroughLoop } from '../../call-through-loop.ts'
import { ScriptedChatModel } from './langchain-model.ts'

const langchainTool = ({ name, description, parameters, handler }: Tool) =>
  tool((params, config: { signal?: AbortSignal }) => handler(params as Record<string, unknown>, config.signal), {
    name,
    description,
    schema: z.fromJSONSchema(parameters) as z.ZodObject,
  })

async function make({ tools, mcpServers, deadlineMs }: Setup): Promise<Runtime> {
  const servers = Object.entries(mcpServers).map(([name, server]) => [
    name,
    'url' in server ? { url: server.url } : { transport: 'stdio', command: server.command, args: [...server.args] },
  ])
  const client =
    servers.length > 0
      ? new MultiServerMCPClient({ mcpServers: Object.fromEntries(servers), defaultToolTimeout: deadlineMs })
      : undefined
  const all = [...tools.map(langchainTool), ...((await client?.getTools()) ?? [])]
  const run: Runtime['run'] = async (script, { signal } = {}) => {
    const agent = createAgent({ model: new ScriptedChatModel(script), tools: all })
    const config = { timeout: deadlineMs, ...(signal !== undefined && { signal }) }
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Go.' }] }, config)
    return messages.at(-1)?.text ?? ''
  }
  return { run, call: callThroughLoop(run), close: async () => void (await client?.close()) }
}

export const adapter: Adapter = {
  name: 'LangChain',
  packages: ['langchain', '@langchain/mcp-adapters'],
  can: ['loop', 'mcp-stdio', 'mcp-http'],
  make,
}
