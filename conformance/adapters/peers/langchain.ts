import { randomUUID } from 'node:crypto'
import { Command, MemorySaver } from '@langchain/langgraph'
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { createAgent, type HITLRequest, humanInTheLoopMiddleware, tool } from 'langchain'
import { z } from 'zod'
import type { Adapter, Progress, Runtime, ScriptedModel, Setup, Tool } from '../../adapter.ts'
import { callThroughLoop } from '../../call-through-loop.ts'
import { ScriptedChatModel } from './langchain-model.ts'

const langchainTool = ({ name, description, parameters, handler }: Tool) =>
  tool((params, config: { signal?: AbortSignal }) => handler(params as Record<string, unknown>, config.signal), {
    name,
    description,
    schema: z.fromJSONSchema(parameters) as z.ZodObject,
  })

/** Stands in for a checkpointer with a database: it is still there after a restart of the runtime. */
const checkpointer = new MemorySaver()

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
  const guarded = tools.filter(({ needsApproval }) => needsApproval).map(({ name }) => [name, true] as const)
  const advance = async (thread_id: string, input: 'begin' | 'approve' | 'reject', script: ScriptedModel) => {
    const middleware = [humanInTheLoopMiddleware({ interruptOn: Object.fromEntries(guarded) })]
    const agent = createAgent({ model: new ScriptedChatModel(script), tools: all, middleware, checkpointer })
    const config = { configurable: { thread_id }, timeout: deadlineMs }
    const waiting = (await agent.graph.getState(config)).tasks.flatMap(({ interrupts }) => interrupts)
    const requests = waiting.flatMap(({ value }) => (value as HITLRequest).actionRequests)
    const given =
      input === 'begin'
        ? { messages: [{ role: 'user', content: 'Go.' }] }
        : new Command({ resume: { decisions: requests.map(() => ({ type: input })) } })
    const answer = await agent.invoke(given as Parameters<typeof agent.invoke>[0], config)
    const waits = '__interrupt__' in answer
    return (waits ? { state: thread_id } : { text: answer.messages.at(-1)?.text ?? '' }) satisfies Progress
  }
  return {
    run,
    begin: (script) => advance(randomUUID(), 'begin', script),
    decide: (state, approve, script) => advance(state, approve ? 'approve' : 'reject', script),
    call: callThroughLoop(
      guarded.length === 0 ? run : async (script) => JSON.stringify(await advance(randomUUID(), 'begin', script)),
    ),
    close: async () => void (await client?.close()),
  }
}

export const adapter: Adapter = {
  name: 'LangChain',
  packages: ['langchain', '@langchain/mcp-adapters'],
  can: ['loop', 'mcp-stdio', 'mcp-http', 'approval'],
  make,
}
