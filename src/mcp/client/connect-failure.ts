import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { McpServerSettings } from './server-settings.ts'

/** A server that could not be reached: why, what it said last, and what to look at. */
export class ConnectFailure extends ToolExecutionError {
  readonly server: string
  readonly reason: string
  /** What callers and models may know of the reason. */
  readonly told: string
  readonly stderr: string
  readonly check: string

  /** `told` is given where that is less than the reason. */
  constructor(settings: McpServerSettings, reason: string, stderr = '', cause?: unknown, told = reason) {
    const said = stderr === '' ? '' : ` MCP Server stderr: ${stderr}`
    super('SERVICE_UNAVAILABLE', `MCP server '${settings.name}' is unavailable: ${told}.${said}`, {}, { cause })
    this.server = settings.name
    this.reason = reason
    this.told = told
    this.stderr = stderr
    this.check = settings.check ?? checkOf(settings)
  }
}

function checkOf({ name, reach }: McpServerSettings): string {
  return reach.type === 'stdio'
    ? `does "${reach.command}" run by hand with the arguments of mcpServers.${name}, and does it speak MCP on stdout?`
    : `is the server of mcpServers.${name} running, and are its address and headers right?`
}
