import {
  createToolyard,
  isolated,
  type Model,
  type RunAnswer,
  silentLog,
  ToolHandlers,
  ToolManager,
  tool,
} from 'toolyard'
import type { Adapter, Progress, Runtime, ScriptedModel, Setup } from '../adapter.ts'
import { callThroughLoop } from '../call-through-loop.ts'

function toolyardModel(script: ScriptedModel): Model {
  return {
    id: 'conformance:scripted',
    async *stream({ messages }) {
      const last = messages.findLastIndex(({ role }) => role !== 'tool')
      const replies = messages
        .slice(last + 1)
        .flatMap((message) =>
          message.role === 'tool' ? [{ id: message.tool_call_id, text: String(message.content) }] : [],
        )
      const turn = script(replies)
      if ('text' in turn) {
        yield { type: 'text-delta', text: turn.text }
        yield { type: 'finish', reason: 'stop' }
        return
      }
      for (const { id, name, arguments: args } of turn.calls) {
        yield { type: 'tool-call-start', id, name }
        yield { type: 'tool-call-end', call: { id, type: 'function', function: { name, arguments: args } } }
      }
      yield { type: 'finish', reason: 'tool_calls' }
    },
  }
}

/** With a store, which approvals need. */
async function makeStored({ tools, folder }: Setup): Promise<Runtime> {
  const yard = await createToolyard({
    tools: tools.map(({ name, description, parameters, handler, needsApproval = false }) =>
      tool({
        name,
        description,
        input: { type: 'object', ...parameters },
        approval: needsApproval,
        execute: (params, { signal }) => handler(params as Record<string, unknown>, signal),
      }),
    ),
    storage: folder,
  })
  const progress = ({ status, run_id, approvals = [], content }: RunAnswer): Progress =>
    status === 'waiting' ? { state: JSON.stringify({ run_id, ids: approvals.map(({ id }) => id) }) } : { text: content }
  return {
    call: async (name, args) => JSON.stringify(await yard.call(name, JSON.parse(args))),
    begin: async (script) => progress(await yard.run({ model: toolyardModel(script), prompt: 'Go.' })),
    async decide(state, approve, script) {
      const { run_id, ids } = JSON.parse(state) as { run_id: string; ids: string[] }
      for (const id of ids) await yard.decide(id, { decision: approve ? 'approve' : 'reject' })
      return progress(await yard.resume(run_id, { model: toolyardModel(script) }))
    },
    close: () => yard.close(),
  }
}

async function make(setup: Setup): Promise<Runtime> {
  const { tools, mcpServers, deadlineMs } = setup
  if (tools.some(({ needsApproval }) => needsApproval)) return makeStored(setup)
  const handlers = new ToolHandlers()
  for (const { name, handler, untrusted } of tools) {
    if (untrusted !== undefined) handlers.register(name, isolated(untrusted.module, untrusted.export))
    else handlers.register(name, (params, { signal }) => handler(params, signal))
  }
  const registry = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
    implementation: { type: 'internal', handler: name },
  }))
  const config = {
    tools: { enabled: true, default_timeout_ms: deadlineMs, registry },
    mcpServers,
  }
  const manager = new ToolManager(config, { log: silentLog, handlers })
  await manager.loadTools()
  const run: Runtime['run'] = async (script, { signal } = {}) => {
    const { content } = await manager.getLoop().answer({
      model: toolyardModel(script),
      messages: [{ role: 'user', content: 'Go.' }],
      ...(signal !== undefined && { context: { signal } }),
    })
    return content
  }
  return { run, call: callThroughLoop(run), close: () => manager.close() }
}

export const adapter: Adapter = {
  name: 'Toolyard',
  packages: ['toolyard'],
  can: ['loop', 'mcp-stdio', 'mcp-http', 'approval'],
  make,
}
