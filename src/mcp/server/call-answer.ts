import { type CallToolResult, isCallToolResult } from '@modelcontextprotocol/server'
import type { ToolDefinition } from '../../core/tool.ts'
import type { ToolResult } from '../../core/tool-result.ts'

/** What `implementation.returns` says of a tool whose results may be content of the protocol: images, audio, resources. */
export const RETURNS_CONTENT = 'mcp_content'

/**
 * An envelope as the protocol's answer. Only a tool whose definition says so can return content of the protocol: the
 * result of any other is data, whatever it looks like.
 */
export function callAnswer(result: ToolResult, tool: ToolDefinition | undefined): CallToolResult {
  if (!result.success) return { content: [text(result.error)], structuredContent: { ...result }, isError: true }
  const value = result.result
  if (tool?.implementation.returns === RETURNS_CONTENT && isCallToolResult(value)) return contentOf(value)
  if (typeof value === 'string') return { content: [text(value)] }
  const content = [text(JSON.stringify(value))]
  return isObject(value) ? { content, structuredContent: value } : { content }
}

/** What makes up an answer, and nothing else that the protocol could take for more than that. */
const contentOf = ({ content, structuredContent, isError, _meta }: CallToolResult): CallToolResult => ({
  content,
  ...(structuredContent !== undefined && { structuredContent }),
  ...(isError !== undefined && { isError }),
  ...(_meta !== undefined && { _meta }),
})

const text = (words: string) => ({ type: 'text', text: words }) as const

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
