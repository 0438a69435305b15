import { shortened } from '../core/schema/problem-words.ts'
import type { ToolFailure } from '../core/tool-result.ts'
import type { Message, OfferedTool, ToolCall } from '../models/model.ts'
import type { RunRequest } from './run.ts'
import type { Offer } from './tool-offer.ts'

/** The name of a client tool is already taken, or the tool that the model has to call doesn't exist. */
export class ClientToolError extends Error {
  readonly tool: string

  constructor(tool: string, message: string) {
    super(message)
    this.name = 'ClientToolError'
    this.tool = tool
  }
}

export const NO_CLIENT_TOOLS: readonly OfferedTool[] = Object.freeze([])

/** Adds the client's tools to an offer. Names must be unique, or it would be unclear who runs a call. */
export function besideClientTools(offer: Offer, clientTools: readonly OfferedTool[]): readonly OfferedTool[] {
  if (clientTools.length === 0) return offer.tools
  const names = new Set(offer.names)
  for (const { name } of clientTools) {
    if (!names.has(name)) names.add(name)
    else if (offer.names.has(name)) {
      throw new ClientToolError(name, `The tool '${name}' already exists on the server: rename yours`)
    } else throw new ClientToolError(name, `Two client tools are named '${name}': rename one of them`)
  }
  return [...offer.tools, ...clientTools]
}

/** Throws if the required tool is not offered. */
export function requireChoice(tools: readonly OfferedTool[], choice: RunRequest['tool_choice']): void {
  if (choice === undefined) return
  if (choice === 'required') {
    if (tools.length === 0) throw new ClientToolError('', 'tool_choice is "required", but no tools are offered')
  } else if (!tools.some(({ name }) => name === choice.name)) {
    throw new ClientToolError(
      choice.name,
      `tool_choice names the tool '${shortened(choice.name)}', which is not offered`,
    )
  }
}

/** Tells the model that a server tool wasn't run because the same turn called client tools. */
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
