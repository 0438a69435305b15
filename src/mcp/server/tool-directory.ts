import { type CallToolRequest, ProtocolError, ProtocolErrorCode, type Tool } from '@modelcontextprotocol/server'
import type { CallContext } from '../../core/call-context.ts'
import type { ToolDefinition } from '../../core/tool.ts'

/** What clients that ask for discovery are shown instead of all tools. */
export interface ToolDirectory {
  /** Patterns of tools that are listed in any case. */
  readonly always: readonly string[]
  /** The tool that searches; undefined if this caller can't use it. */
  toolFor(rights: CallContext): ToolDefinition | undefined
}

interface Pages {
  listed(tool: ToolDefinition): Tool
  matching(context: CallContext, patterns: readonly string[]): Tool[]
}

/** The search, a way to call what it finds, and the tools that are always listed. */
export function directoryList(directory: ToolDirectory, pages: Pages, context: CallContext): Tool[] {
  const search = directory.toolFor(context)
  const always = pages.matching(context, directory.always)
  return search === undefined ? always : [pages.listed(search), CALL_TOOL, ...always]
}

const CALL_NAME = 'call_tool'

/** Calls a tool that the search has found. */
const CALL_TOOL: Tool = {
  name: CALL_NAME,
  description: 'Calls a tool that search_tools has found, by its name and with parameters that match its schema.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The name of the tool.' },
      parameters: { type: 'object', description: 'The parameters of the tool.' },
    },
    required: ['name'],
  },
}

/** The call that is meant: `call_tool` stands for the tool that it names, which is permitted, validated and recorded. */
export function meantCall(
  { discovers }: { readonly discovers?: boolean },
  params: CallToolRequest['params'],
): Pick<CallToolRequest['params'], 'name' | 'arguments'> {
  if (!discovers || params.name !== CALL_NAME) return params
  const { name, parameters = {} } = params.arguments ?? {}
  if (typeof name !== 'string') {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${CALL_NAME} needs the name of a tool: use search_tools`)
  }
  return { name, arguments: parameters as Record<string, unknown> }
}
