import { randomUUID } from 'node:crypto'
import {
  type CallToolRequest,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  fromJsonSchema,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  LOG_LEVEL_META_KEY,
  McpServer,
  type ServerCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { AskableClient } from '../../core/call-context.ts'
import { writeLog } from '../../core/log.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { withKeptArguments } from './kept-arguments.ts'
import { serveLibrary } from './library.ts'
import { ANSWER_MS, AskingCall, ownerOf } from './open-questions.ts'
import { meantCall } from './tool-directory.ts'
import { type CallApprovals, type Caller, isLevel, type LogLevel, type ToolServer } from './tool-server.ts'

/** The SDK's server for one connection, or for one stateless request, in which `called` is the tool to be called. */
export function openConnection(server: ToolServer, caller: Caller, called?: string): McpServer {
  const capabilities: ServerCapabilities = {
    tools: { listChanged: true },
    logging: {},
    ...(server.library !== undefined && {
      resources: { listChanged: true, ...(server.library.library.subscribe && { subscribe: true }) },
      prompts: { listChanged: true },
      ...(server.library.library.complete && { completions: {} }),
    }),
  }
  const connection = new McpServer(server.info, { capabilities })
  const tool =
    called !== undefined && caller.context.visible?.has(called) !== false && server.definition(called, caller.context)
  if (tool && server.pages.usesHeaders(tool)) declareParameters(connection, tool)
  const methods = connection.server
  methods.setRequestHandler('tools/list', ({ params }) => {
    const { tools, nextCursor } = server.list(caller, params?.cursor)
    return { tools: [...tools], ...(nextCursor !== undefined && { nextCursor }) }
  })
  methods.setRequestHandler(
    'tools/call',
    callHandler(server, caller, () => methods.getClientCapabilities()),
  )
  methods.setRequestHandler('logging/setLevel', ({ params }) => {
    caller.logLevel = params.level
    return {}
  })
  if (server.library !== undefined) serveLibrary(methods, server.library, caller)
  server.extend?.(connection, caller)
  return connection
}

export function callHandler(
  server: ToolServer,
  caller: Caller,
  capabilities: () => ClientCapabilities | undefined = () => undefined,
) {
  const connectionId = randomUUID()
  return async (request: CallToolRequest, context: ServerContext): Promise<CallToolResult | InputRequiredResult> => {
    const params = meantCall(caller, withKeptArguments(request.params))
    const state = context.mcpReq.requestState<unknown>()
    const subject = JSON.stringify([params.name, params.arguments])
    const resumed = server.questions.resume(state, caller.context, subject, context)
    if (resumed !== undefined) return resumed
    const logLevel = logLevelOf(context) ?? caller.logLevel
    const offered = offeredBy(context)
    // A stateless client is asked by the response, and answers with its next request.
    const asking = offered && new AskingCall(caller.context, subject, context)
    const client: AskableClient = {
      id: offered ? ownerOf(caller.context) : connectionId,
      caller: caller.context.caller,
      capabilities: offered ?? capabilities() ?? {},
      logLevel,
      ask: asking?.ask ?? sender(context),
    }
    const call = (approvalId = typeof state === 'string' ? state : undefined) =>
      server.call({
        name: params.name,
        args: params.arguments,
        caller,
        approvalId,
        signal: asking?.signal ?? context.mcpReq.signal,
        progressToken: context.mcpReq._meta?.progressToken,
        logLevel,
        meta: context.mcpReq._meta,
        client,
        notify: (notice) => {
          const { mcpReq } = asking?.context ?? context
          const progressToken = mcpReq._meta?.progressToken
          const isProgress = notice.method === 'notifications/progress'
          if (isProgress && progressToken === undefined) return
          const told = isProgress ? { ...notice, params: { ...notice.params, progressToken } } : notice
          mcpReq.notify(told).catch((error: unknown) => {
            writeLog(server.log, 'debug', { err: error }, 'A progress notification could not be sent')
          })
        },
      })
    const run = async (): Promise<CallToolResult | InputRequiredResult> => {
      const { result, approval, connectUrl } = await call()
      const { elicitation } = client.capabilities as ClientCapabilities
      if (connectUrl !== undefined && elicitation?.url !== undefined) {
        // The client answers when the page was opened, and repeats the call.
        const isAsked = inputResponse(context.mcpReq.inputResponses, CONNECT).kind !== 'missing'
        const message = `The tool '${params.name}' needs your account. Open the page to connect it`
        const asked = inputRequired.elicitUrl({ message, url: connectUrl })
        return isAsked ? result : inputRequired({ inputRequests: { [CONNECT]: asked } })
      }
      if (approval === undefined || server.approvals === undefined) return result
      const response = inputResponse(context.mcpReq.inputResponses, APPROVAL)
      const own = server.approvals.mayDecide(params.name, caller.context)
      if (response.kind === 'missing') {
        return question(server.approvals, approval, params, own, elicitation, context) ?? result
      }
      // A client answers a URL elicitation when the page was opened: the person decides there.
      if (!own || response.kind !== 'elicit' || response.action === 'cancel') return result
      await server.approvals.decide(approval, response.action === 'accept' ? 'approve' : 'reject', caller.context)
      return (await call(approval)).result
    }
    if (asking === undefined) return run()
    asking.start(run)
    return server.questions.next(asking)
  }
}

/** Asks a client of an older era, which has a connection to it. */
const sender =
  ({ mcpReq }: ServerContext): AskableClient['ask'] =>
  ({ method, params }) => {
    const isUrl = method === 'elicitation/create' && params.mode === 'url'
    const asked = isUrl ? { elicitationId: randomUUID(), ...params } : { ...params }
    const options = { timeout: ANSWER_MS, signal: mcpReq.signal }
    return mcpReq.send({ method: method as 'elicitation/create', params: asked }, options)
  }

const APPROVAL = 'approval'
const CONNECT = 'connect'
const MAX_SHOWN = 2_000

const offeredBy = ({ mcpReq }: ServerContext): ClientCapabilities | undefined =>
  (mcpReq.envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY] as
    | ClientCapabilities
    | undefined

/** Asks the person at the client: the asker itself if it may decide, otherwise to open the approval in the web UI. */
function question(
  { path, origin }: CallApprovals,
  id: string,
  { name: tool, arguments: params = {} }: CallToolRequest['params'],
  own: boolean,
  elicitation: ClientCapabilities['elicitation'],
  { http }: ServerContext,
): InputRequiredResult | undefined {
  if (elicitation === undefined) return undefined
  if (own) {
    // A client that names no mode has forms.
    if (elicitation.form === undefined && elicitation.url !== undefined) return undefined
    const shown = JSON.stringify(params)
    // Nobody can approve what the client doesn't show.
    if (shown.length > MAX_SHOWN) return undefined
    const requestedSchema = { type: 'object', properties: {} } as const
    const message = `Run the tool '${tool}' with ${shown}?`
    const form = inputRequired.elicit({ message, requestedSchema })
    return inputRequired({ inputRequests: { [APPROVAL]: form }, requestState: id })
  }
  const host = http?.req?.headers.get('host')
  if (elicitation.url === undefined || (origin === undefined && !host)) return undefined
  const scheme = http?.req?.headers.get('x-forwarded-proto') === 'https' ? 'https' : 'http'
  const message = `The tool '${tool}' runs only with approval. Open the approval in the web UI`
  const url = `${origin ?? `${scheme}://${host}`}${path}${encodeURIComponent(id)}`
  return inputRequired({ inputRequests: { [APPROVAL]: inputRequired.elicitUrl({ message, url }) }, requestState: id })
}

/** Notifies a connection of changed lists until it closes. */
export function followChanges(server: ToolServer, connection: McpServer): void {
  const { server: methods } = connection
  const send = {
    tools: () => methods.sendToolListChanged(),
    resources: () => methods.sendResourceListChanged(),
    prompts: () => methods.sendPromptListChanged(),
  }
  const stop = server.onChange((what) => {
    send[what]().catch((error: unknown) => {
      writeLog(server.log, 'debug', { err: error, changed: what }, 'A change notification could not be sent')
    })
  })
  const before = methods.onclose
  methods.onclose = () => {
    stop()
    before?.()
  }
}

/** Tells the SDK which parameters a request must repeat in its headers (`x-mcp-header`). The executor validates. */
function declareParameters(connection: McpServer, { name, parameters }: ToolDefinition): void {
  const inputSchema = fromJsonSchema({ ...parameters }, UNCHECKED)
  connection.registerTool(name, { inputSchema }, () => ({ content: [] }))
}

const UNCHECKED: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined })
  },
}

/** Each stateless request has its own log level. */
function logLevelOf({ mcpReq }: ServerContext): LogLevel | undefined {
  const level = (mcpReq.envelope as Record<string, unknown> | undefined)?.[LOG_LEVEL_META_KEY]
  return isLevel(level) ? level : undefined
}
