import {
  Agent,
  connectMcpServers,
  MCPServerStdio,
  MCPServerStreamableHttp,
  type Model,
  type ModelRequest,
  type ModelResponse,
  Runner,
  RunState,
  tool,
  Usage,
} from '@openai/agents'
import { z } from 'zod'
import type { Adapter, McpServer, Progress, Reply, Runtime, ScriptedModel, Setup, Tool } from '../../adapter.ts'
import { callThroughLoop } from '../../call-through-loop.ts'

function agentsModel(script: ScriptedModel): Model {
  return {
    async getResponse({ input }) {
      const turn = script(repliesIn(input))
      const output: ModelResponse['output'] =
        'text' in turn
          ? [
              {
                type: 'message',
                role: 'assistant',
                status: 'completed',
                content: [{ type: 'output_text', text: turn.text }],
              },
            ]
          : turn.calls.map(({ id, name, arguments: args }) => ({
              type: 'function_call',
              callId: id,
              name,
              arguments: args,
              status: 'completed',
            }))
      return { usage: new Usage({ requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 }), output }
    },
    getStreamedResponse: () => {
      throw new Error('The suite asks for whole answers only.')
    },
  }
}

function repliesIn(input: ModelRequest['input']): Reply[] {
  const items = typeof input === 'string' ? [] : input
  const last = items.findLastIndex((item) => item.type !== 'function_call_result')
  return items.slice(last + 1).flatMap((item) => {
    if (item.type !== 'function_call_result') return []
    const { output } = item
    return [{ id: item.callId, text: typeof output === 'string' ? output : JSON.stringify(output) }]
  })
}

const agentsTool = ({ name, description, parameters, handler, needsApproval = false }: Tool, deadlineMs: number) =>
  tool({
    name,
    description,
    parameters: z.fromJSONSchema(parameters) as z.ZodObject,
    timeoutMs: deadlineMs,
    needsApproval,
    execute: (params, _context, details) => handler(params as Record<string, unknown>, details?.signal),
  })

const agentsServer = (server: McpServer, deadlineMs: number) =>
  'url' in server
    ? new MCPServerStreamableHttp({ url: server.url, timeout: deadlineMs })
    : new MCPServerStdio({ command: server.command, args: [...server.args], timeout: deadlineMs })

async function make({ tools, mcpServers, deadlineMs }: Setup): Promise<Runtime> {
  const servers = await connectMcpServers(Object.values(mcpServers).map((server) => agentsServer(server, deadlineMs)))
  const runner = new Runner({ tracingDisabled: true })
  const agentOf = (script: ScriptedModel) =>
    new Agent({
      name: 'suite',
      instructions: 'Go.',
      model: agentsModel(script),
      tools: tools.map((each) => agentsTool(each, deadlineMs)),
      mcpServers: servers.active,
    })
  const run: Runtime['run'] = async (script, { signal } = {}) => {
    const { finalOutput } = await runner.run(agentOf(script), 'Go.', signal !== undefined ? { signal } : {})
    return String(finalOutput)
  }
  const advance = async (agent: ReturnType<typeof agentOf>, input: 'Go.' | RunState<undefined, typeof agent>) => {
    const { interruptions, state, finalOutput } = await runner.run(agent, input)
    const waits = interruptions.length > 0
    return (waits ? { state: state.toString() } : { text: String(finalOutput) }) satisfies Progress
  }
  return {
    run,
    begin: (script) => advance(agentOf(script), 'Go.'),
    async decide(text, approve, script) {
      const agent = agentOf(script)
      const state = await RunState.fromString<undefined, typeof agent>(agent, text)
      for (const each of state.getInterruptions()) approve ? state.approve(each) : state.reject(each)
      return advance(agent, state)
    },
    call: callThroughLoop(run),
    close: () => servers.close(),
  }
}

export const adapter: Adapter = {
  name: 'OpenAI Agents',
  packages: ['@openai/agents'],
  can: ['loop', 'mcp-stdio', 'mcp-http', 'approval'],
  make,
}
