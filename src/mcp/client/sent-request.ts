import { ProtocolError, type StandardSchemaV1 } from '@modelcontextprotocol/client'
import { redactText } from '../../core/records/redact.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { cleanText } from '../stdio/clean-text.ts'
import type { McpConnection } from './mcp-connection.ts'

/**
 * What a person may ask a server by hand: methods that read. Calls of tools go through the executor, and other methods
 * change a connection that all callers share.
 */
export const READ_METHODS = [
  'ping',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'server/discover',
] as const

export type ReadMethod = (typeof READ_METHODS)[number]

/** The answer of a server: its result, or its error. */
export type ServerAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }

const TIMEOUT_MS = 30_000
const MAX_MESSAGE_CHARACTERS = 2_000

/** People see what the server answers, whatever that is. */
const ANY_RESULT: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'toolyard', validate: (value) => ({ value }) },
}

/** Sends one request over the shared connection. Rejects with a `ToolExecutionError` if the server doesn't answer. */
export async function sendRequest(
  connection: McpConnection,
  method: ReadMethod,
  params: Readonly<Record<string, unknown>>,
): Promise<ServerAnswer> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const { name } = connection.settings
  try {
    const result = await connection.request(
      (client) => client.request({ method, params: { ...params } }, ANY_RESULT, { signal, timeout: TIMEOUT_MS }),
      signal,
    )
    return { result }
  } catch (thrown) {
    if (ProtocolError.isInstance(thrown)) {
      const message = redactText(cleanText(thrown.message), MAX_MESSAGE_CHARACTERS)
      return { error: { code: thrown.code, message } }
    }
    if (thrown instanceof ToolExecutionError) throw thrown
    if (signal.aborted) {
      throw new ToolExecutionError('TIMEOUT', `MCP server '${name}' did not answer '${method}' within 30 s`)
    }
    const reason = thrown instanceof Error ? redactText(cleanText(thrown.message)) : 'the request failed'
    throw new ToolExecutionError('SERVICE_UNAVAILABLE', `MCP server '${name}' did not answer '${method}': ${reason}`)
  }
}
