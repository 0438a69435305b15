import type { McpServerStatus } from '../../../../src/app/tools/mcp-status.ts'
import type { ReadMethod } from '../../../../src/mcp/client/sent-request.ts'
import type { McpTraffic } from '../../../../src/server/http/views.ts'

type Message = McpTraffic['messages'][number]
type Params = Record<string, unknown>

/** The parameters that a form for each method begins with. */
export const METHODS: Readonly<Record<ReadMethod, Params>> = {
  ping: {},
  'tools/list': {},
  'resources/list': {},
  'resources/templates/list': {},
  'resources/read': { uri: '' },
  'prompts/list': {},
  'prompts/get': { name: '', arguments: {} },
  'completion/complete': { ref: { type: 'ref/prompt', name: '' }, argument: { name: '', value: '' } },
  'server/discover': {},
}

/** A request that a person edits before it is sent. */
export interface RequestDraft {
  /** Changes with every draft, so that a form begins anew. */
  readonly key: string
  readonly method: ReadMethod
  readonly params: Params
  /** The recorded answer to the request that is sent again. */
  readonly before?: Message
}

const isReadMethod = (method: string | undefined): method is ReadMethod =>
  method !== undefined && Object.hasOwn(METHODS, method)

const isParams = (content: unknown): content is Params =>
  typeof content === 'object' && content !== null && !Array.isArray(content)

/** Meta data belongs to a connection and to one request. */
function withoutMeta({ _meta, ...params }: Params): Params {
  return params
}

/** The draft to send a recorded request again. Undefined if it isn't one that people may send. */
export function draftOf(message: Message, messages: McpTraffic['messages']): RequestDraft | undefined {
  const { number, direction, kind, method, id, content } = message
  if (direction !== 'sent' || kind !== 'request' || !isReadMethod(method)) return undefined
  const before = messages.find(
    (one) => one.number > number && one.direction === 'received' && one.id === id && one.method === method,
  )
  return {
    key: String(number),
    method,
    params: isParams(content) ? withoutMeta(content) : METHODS[method],
    ...(before !== undefined && { before }),
  }
}

/** The tool of a recorded call, and its parameters. Undefined for other messages and unknown tools. */
export function calledTool(
  { direction, kind, method, content }: Message,
  tools: McpServerStatus['tools'],
): { readonly name: string; readonly params: Params } | undefined {
  if (direction !== 'sent' || kind !== 'request' || method !== 'tools/call' || !isParams(content)) return undefined
  const tool = tools.find((one) => one.tool === content.name)
  return tool && { name: tool.name, params: isParams(content.arguments) ? content.arguments : {} }
}

/** Whether parts of recorded parameters are missing: secrets, and what was too long. */
export const isIncomplete = (params: Params): boolean =>
  /\[redacted\]|… \(\d+ characters\)|"…/.test(JSON.stringify(params))
