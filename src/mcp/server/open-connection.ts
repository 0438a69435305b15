import {
  type CallToolRequest,
  type CallToolResult,
  LOG_LEVEL_META_KEY,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type Server,
  type ServerCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { type Log, writeLog } from '../../core/log.ts'
import { isLevel, type LogLevel } from './report-reader.ts'
import type { Caller, Library, ToolServer } from './tool-server.ts'

/** The SDK's end of one connection (of one request, in the stateless era), answering out of our registry. */
export function openConnection(server: ToolServer, caller: Caller): McpServer {
  const capabilities: ServerCapabilities = {
    tools: { listChanged: true },
    logging: {},
    ...(server.library !== undefined && { resources: { listChanged: true }, prompts: { listChanged: true } }),
  }
  const connection = new Connection(server, caller, capabilities)
  const methods = connection.server
  methods.setRequestHandler('tools/list', ({ params }) => {
    const { tools, nextCursor } = server.pages.page(caller.context, params?.cursor)
    return { tools: [...tools], ...(nextCursor !== undefined && { nextCursor }) }
  })
  methods.setRequestHandler('tools/call', callHandler(server, caller))
  methods.setRequestHandler('logging/setLevel', ({ params }) => {
    caller.logLevel = params.level
    return {}
  })
  if (server.library !== undefined) serveLibrary(methods, server.library, caller, server.log)
  server.extend?.(connection, caller)
  return connection
}

/** Answers `tools/call` for a caller. */
export const callHandler =
  (server: ToolServer, caller: Caller) =>
  ({ params }: CallToolRequest, context: ServerContext): Promise<CallToolResult> =>
    server.call({
      name: params.name,
      args: params.arguments,
      caller,
      signal: context.mcpReq.signal,
      progressToken: context.mcpReq._meta?.progressToken,
      logLevel: logLevelOf(context) ?? caller.logLevel,
      meta: context.mcpReq._meta,
      notify: (notice) => {
        context.mcpReq.notify(notice).catch((error: unknown) => {
          writeLog(server.log, 'debug', { err: error }, 'A client could not be told of progress')
        })
      },
    })

/** Tells a connection of changed lists for as long as it lasts. */
export function followChanges(server: ToolServer, connection: McpServer): void {
  const { server: methods } = connection
  const send = {
    tools: () => methods.sendToolListChanged(),
    resources: () => methods.sendResourceListChanged(),
    prompts: () => methods.sendPromptListChanged(),
  }
  const stop = server.onChange((what) => {
    send[what]().catch((error: unknown) => {
      writeLog(server.log, 'debug', { err: error, changed: what }, 'A client could not be told of a change')
    })
  })
  const before = methods.onclose
  methods.onclose = () => {
    stop()
    before?.()
  }
}

class Connection extends McpServer {
  readonly #server: ToolServer
  readonly #caller: Caller

  constructor(server: ToolServer, caller: Caller, capabilities: ServerCapabilities) {
    super(server.info, { capabilities })
    this.#server = server
    this.#caller = caller
  }

  /** Where the SDK looks up which parameters a request must repeat in its headers (`x-mcp-header`). */
  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    if (this.#caller.context.visible?.has(name) === false) return undefined
    const definition = this.#server.definition(name)
    return definition && { ...definition.parameters }
  }
}

/** In the stateless era every request says for itself what it wants to hear. */
function logLevelOf({ mcpReq }: ServerContext): LogLevel | undefined {
  const level = (mcpReq.envelope as Record<string, unknown> | undefined)?.[LOG_LEVEL_META_KEY]
  return isLevel(level) ? level : undefined
}

/** Answers for resources and prompts out of a library. */
function serveLibrary(methods: Server, library: Library, caller: Caller, log: Log): void {
  const ask = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      writeLog(log, 'warn', { err: error }, `${what} could not be had`)
      throw new ProtocolError(ProtocolErrorCode.InternalError, `${what} could not be had: its server did not give it`)
    }
  }

  methods.setRequestHandler('resources/list', async () => ({
    resources: [...(await ask('The list of resources', () => library.listResources(caller.context)))],
  }))
  methods.setRequestHandler('resources/templates/list', async () => ({
    resourceTemplates: [...(await ask('The list of templates', () => library.listResourceTemplates(caller.context)))],
  }))
  methods.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const found = await ask(`Resource '${uri}'`, () => library.readResource(uri, caller.context))
    if (found === undefined) throw new ResourceNotFoundError(uri, `Resource '${uri}' not found`)
    return found
  })
  methods.setRequestHandler('prompts/list', async () => ({
    prompts: [...(await ask('The list of prompts', () => library.listPrompts(caller.context)))],
  }))
  methods.setRequestHandler('prompts/get', async ({ params: { name, arguments: args = {} } }) => {
    const found = await ask(`Prompt '${name}'`, () => library.getPrompt(name, args, caller.context))
    if (found === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Prompt '${name}' not found`)
    return found
  })
}
