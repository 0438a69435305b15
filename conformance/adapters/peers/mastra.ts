import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { MCPClient } from '@mastra/mcp'
import { z } from 'zod'
import type { Adapter, Progress, Runtime, ScriptedModel, Setup, Tool } from '../../adapter.ts'
import { callThroughLoop } from '../../call-through-loop.ts'
import { providerModel } from './scripted-turns.ts'

const mastraTool = ({ name, description, parameters, handler, needsApproval }: Tool) =>
  createTool({
    id: name,
    description,
    inputSchema: z.fromJSONSchema(parameters) as z.ZodType<Record<string, unknown>>,
    execute: async (params, context) => handler(params, context?.abortSignal),
    ...(needsApproval && { requireApproval: true }),
  })

/** Stands in for a database: it is still there after a restart of the runtime. */
const storage = new InMemoryStore()

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
  const agentOf = (model: ReturnType<typeof providerModel>) =>
    new Agent({ id: 'suite', name: 'suite', instructions: 'Go.', model, tools: { ...local, ...remote } })
  const stored = (script: ScriptedModel) =>
    new Mastra({ agents: { suite: agentOf(providerModel(script, toolName)) }, storage, logger: false }).getAgent(
      'suite',
    )
  const progress = ({ finishReason, runId, suspendPayload, text }: Awaited<ReturnType<Agent['generate']>>): Progress =>
    finishReason === 'suspended'
      ? { state: JSON.stringify({ runId, toolCallId: suspendPayload.toolCallId }) }
      : { text }
  const run: Runtime['run'] = async (script, { signal } = {}) => {
    const model = providerModel(script, toolName)
    const { text } = await agentOf(model).generate('Go.', {
      modelSettings: { timeout: { totalMs: deadlineMs } },
      ...(signal !== undefined && { abortSignal: signal }),
    })
    return text
  }
  return {
    run,
    begin: async (script) => progress(await stored(script).generate('Go.')),
    async decide(state, approve, script) {
      const agent = stored(script)
      const waiting = JSON.parse(state) as { runId: string; toolCallId: string }
      return progress(await (approve ? agent.approveToolCallGenerate(waiting) : agent.declineToolCallGenerate(waiting)))
    },
    call: callThroughLoop(run),
    close: async () => void (await client?.disconnect()),
  }
}

export const adapter: Adapter = {
  name: 'Mastra',
  packages: ['@mastra/core', '@mastra/mcp'],
  can: ['loop', 'mcp-stdio', 'mcp-http', 'approval'],
  make,
}
