import type { ToolFailure } from '../core/tool-result.ts'
import type { Message, OfferedTool, ToolCall } from '../models/model.ts'
import { ClientToolError } from './client-tool-error.ts'
import type { Offer } from './tool-offer.ts'

export const NO_CLIENT_TOOLS: readonly OfferedTool[] = Object.freeze([])

/** Adds the caller's own tools to an offer. Each name means one tool, or it is not known whose turn it is. */
export function besideClientTools(offer: Offer, clientTools: readonly OfferedTool[]): readonly OfferedTool[] {
  if (clientTools.length === 0) return offer.tools
  const names = new Set(offer.names)
  for (const { name } of clientTools) {
    if (!names.has(name)) names.add(name)
    else if (offer.names.has(name)) {
      throw new ClientToolError(name, `The tool '${name}' is there already, and run by the server: rename yours`)
    } else throw new ClientToolError(name, `The tool '${name}' is given twice: name each tool once`)
  }
  return [...offer.tools, ...clientTools]
}

/** What the model reads about a call of ours beside calls of the client's: nothing was run, so nothing runs twice. */
export function postponed({ id, function: { name } }: ToolCall): Message {
  const envelope: ToolFailure = {
    success: false,
    error: `Tool '${name}' was not run, because the same turn called tools of the client. Call it again if you need it`,
    error_code: 'CANCELLED',
    tool_name: name,
    execution_time_ms: 0,
  }
  return { role: 'tool', tool_call_id: id, name, content: JSON.stringify(envelope) }
}
