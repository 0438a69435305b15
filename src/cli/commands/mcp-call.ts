import { serverTools } from '../../config/server-tools.ts'
import { suggest } from '../../core/suggest.ts'
import type { ToolFailure } from '../../core/tool-result.ts'
import { ConnectFailure } from '../../mcp/client/connect-failure.ts'
import { failureLines } from '../failure-lines.ts'
import { type OpenServer, openServer, SWITCHED_OFF } from '../open.ts'
import { readTimeout, runCall } from '../run-call.ts'
import { showResult } from '../show-result.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'
import type { ExecOptions } from './exec.ts'

const PATIENCE_MS = 60_000

/** `toolyard mcp call`: runs a tool of one server, as `exec` does; 0 where it succeeded, 1 where it failed. */
export async function mcpCall(
  terminal: Terminal,
  server: string,
  tool: string,
  words: readonly string[],
  options: ExecOptions,
): Promise<number> {
  const timeoutMs = readTimeout(terminal, options.timeout)
  const opened = await openServer(terminal, server, options)
  try {
    if (!opened.manager.isEnabled()) throw new UsageError(SWITCHED_OFF)
    await opened.connection.client(AbortSignal.timeout(PATIENCE_MS))
    const name = registeredName(opened, tool)
    if (name === undefined) return fail(terminal, notFound(opened, tool))
    return await runCall(terminal, opened, name, words, { ...options, timeoutMs })
  } catch (error) {
    if (!(error instanceof ConnectFailure)) throw error
    const { message, code } = error
    fail(terminal, { success: false, error: message, error_code: code, tool_name: tool, execution_time_ms: 0 })
    if (!terminal.json) for (const line of failureLines(error)) terminal.note(`  ${line}`)
    return 1
  } finally {
    await opened.close()
  }
}

/** What the tool is called here: its name may belong to another. */
const registeredName = ({ manager, connection }: OpenServer, tool: string): string | undefined =>
  serverTools(manager.getRegistry())
    .get(connection.settings.name)
    ?.find((one) => one.tool === tool)?.name

function notFound({ manager, connection }: OpenServer, tool: string): ToolFailure {
  const { name } = connection.settings
  const names = manager
    .getMcpServers()
    .tools(name)
    .map((one) => one.name)
  return {
    success: false,
    error: `Tool '${tool}' not found on MCP server '${name}'`,
    error_code: 'TOOL_NOT_FOUND',
    tool_name: tool,
    execution_time_ms: 0,
    suggestions: suggest(tool, names),
  }
}

function fail(terminal: Terminal, result: ToolFailure): number {
  if (terminal.json) terminal.document(result)
  else showResult(terminal, result)
  return 1
}
