import type { CallToolResult } from '@modelcontextprotocol/client'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'

/**
 * What a server answered, as the result of a call: its structured content where it gave some, else its text, else (images,
 * audio, resources, or several kinds of content) the content as the protocol has it. An error reaches the caller unchanged.
 */
export function callValue({ content = [], structuredContent, isError }: CallToolResult): unknown {
  const texts = content.map((block) => (block.type === 'text' ? block.text : undefined))
  const allText = texts.every((text) => text !== undefined)
  if (isError) {
    const said = texts.filter((text) => text !== undefined).join('\n')
    throw new ToolExecutionError('EXECUTION_ERROR', said === '' ? 'The server reported an error without a text' : said)
  }
  if (structuredContent !== undefined) return structuredContent
  if (content.length === 0) return null
  return allText ? texts.join('\n') : { content }
}
