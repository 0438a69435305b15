import { createMCPClient } from '@ai-sdk/mcp'
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio'
import { type ModelMessage, ToolLoopAgent, type ToolSet, tool } from 'ai'
import { z } from 'zod'
import type { Adapter, McpServer, Progress, Runtime, ScriptedModel, Setup } from '../../adapter.ts'
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
  for (const { name, description, parameters, handler, needsApproval } of tools) {
    set[name] = tool({
      description,
      inputSchema: z.fromJSONSchema(parameters) as z.ZodType<Record<string, unknown>>,
      execute: (params: Record<string, unknown>, { abortSignal }) => handler(params, abortSignal),
      ...(needsApproval && { needsApproval }),
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
  /** The application keeps the messages, in most cases in the browser. */
  const advance = async (messages: ModelMessage[], script: ScriptedModel): Promise<Progress> => {
    const agent = new ToolLoopAgent({ model: providerModel(script), tools: set })
    const { text, content, responseMessages } = await agent.generate({ messages, timeout: { toolMs: deadlineMs } })
    if (!content.some(({ type }) => type === 'tool-approval-request')) return { text }
    return { state: JSON.stringify([...messages, ...responseMessages]) }
  }
  return {
    run,
    begin: (script) => advance([{ role: 'user', content: 'Go.' }], script),
    decide(state, approved, script) {
      const messages = JSON.parse(state) as ModelMessage[]
      const responses = parts(messages)
        .filter((part) => part.type === 'tool-approval-request')
        .map(({ approvalId }) => ({ type: 'tool-approval-response' as const, approvalId, approved }))
      return advance([...messages, { role: 'tool', content: responses }], script)
    },
    tamper(state, params) {
      const messages = JSON.parse(state) as ModelMessage[]
      for (const part of parts(messages)) if (part.type === 'tool-call') part.input = params
      return JSON.stringify(messages)
    },
    call: callThroughLoop(run),
    close: async () => void (await Promise.all(clients.map((client) => client.close()))),
  }
}

const parts = (messages: ModelMessage[]) =>
  messages.flatMap(({ role, content }) => (role === 'assistant' && typeof content !== 'string' ? content : []))

export const adapter: Adapter = {
  name: 'AI SDK',
  packages: ['ai', '@ai-sdk/mcp'],
  can: ['loop', 'mcp-stdio', 'mcp-http', 'approval'],
  make,
}
