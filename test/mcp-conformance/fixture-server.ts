import { readFileSync } from 'node:fs'
import { type GetPromptRequest, inputRequired, inputResponse, type ServerContext } from '@modelcontextprotocol/server'
import { silentLog, ToolHandlers, ToolManager } from 'toolyard'
import { callHandler } from '../../src/mcp/server/open-connection.ts'
import { ToolServer, type ToolServerOptions } from '../../src/mcp/server/tool-server.ts'
import { ASKING_TOOLS } from './asking-tools.ts'
import { fixtureLibrary } from './fixture-library.ts'
import { fixtureHandlers } from './handlers.ts'

const ASKING_PROMPT = 'test_input_required_result_prompt'
const ADDED = 'test_added_tool'

/**
 * Our server with the fixtures that the conformance suite calls for. What tools of Toolyard do not do (ask the client,
 * complete arguments, watch resources) is registered with the SDK, over the hook that `ToolServer` has for it.
 */
export async function fixtureServer(): Promise<{ server: ToolServer; close(): Promise<void> }> {
  const library = fixtureLibrary()
  const handlers = new ToolHandlers()
  const config = JSON.parse(readFileSync(new URL('toolyard.config.json', import.meta.url), 'utf8'))
  const manager = new ToolManager(config, { handlers, log: silentLog })
  const registry = manager.getRegistry()
  const change = {
    prompts: () => library.changePrompts(),
    tools: () => {
      if (registry.unregister(ADDED)) return
      const { name: _, ...rest } = config.tools.registry[0]
      registry.register({ name: ADDED, ...rest })
    },
  }
  for (const [name, handler] of Object.entries(fixtureHandlers(change))) handlers.register(name, handler)
  await manager.loadTools()

  const extend: ToolServerOptions['extend'] = ({ server: methods }, caller) => {
    const ours = callHandler(server, caller)
    methods.registerCapabilities({ completions: {}, resources: { subscribe: true, listChanged: true } })
    methods.setRequestHandler('tools/call', (request, context) => {
      const asking = ASKING_TOOLS[request.params.name]
      return asking === undefined ? ours(request, context) : asking(request.params.arguments ?? {}, context)
    })
    methods.setRequestHandler('prompts/get', async (request, context) => {
      if (request.params.name === ASKING_PROMPT) return askingPrompt(request, context)
      const { name, arguments: args = {} } = request.params
      return (await library.getPrompt(name, args, caller.context)) ?? { messages: [] }
    })
    methods.setRequestHandler('completion/complete', ({ params }) => ({
      completion: { values: ['testing', 'tested'].filter((word) => word.startsWith(params.argument.value)) },
    }))
    methods.setRequestHandler('resources/subscribe', () => ({}))
    methods.setRequestHandler('resources/unsubscribe', () => ({}))
  }
  const server = new ToolServer({ registry, executor: manager.getExecutor(), version: '1.0.0', library, extend })
  return {
    server,
    async close() {
      server.close()
      await manager.close()
    },
  }
}

function askingPrompt(_request: GetPromptRequest, { mcpReq }: ServerContext) {
  const said = inputResponse(mcpReq.inputResponses, 'user_context')
  if (said.kind !== 'elicit') {
    const user_context = inputRequired.elicit({
      message: 'What context should the prompt use?',
      requestedSchema: { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] },
    })
    return inputRequired({ inputRequests: { user_context } })
  }
  const text = `The context is ${said.content?.context}`
  return { messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }] }
}
