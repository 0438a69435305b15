import { ToolExecutionError } from '../../core/tool-result.ts'
import type { McpServerSettings } from './server-settings.ts'

export class ConnectFailure extends ToolExecutionError {
  readonly server: string
  readonly reason: string
  /** The part of the reason that callers and models may see. */
  readonly told: string
  readonly stderr: string
  readonly check: string

  constructor(settings: McpServerSettings, reason: string, stderr = '', cause?: unknown, told = reason) {
    const output = stderr === '' ? '' : ` MCP Server stderr: ${stderr}`
    super('SERVICE_UNAVAILABLE', `MCP server '${settings.name}' is unavailable: ${told}.${output}`, {}, { cause })
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

/** A server that refuses requests without authorization. Callers see the message, the operator sees the reason. */
export class AuthorizationFailure extends ToolExecutionError {
  /** The end of a sentence about the server. */
  readonly problem: string
  /** The problem with the address to open, which callers must not see. */
  readonly reason: string
  readonly address: string | undefined

  constructor(server: string, problem: string, address?: string) {
    super('SERVICE_UNAVAILABLE', `MCP server '${server}' cannot be used: ${problem}`)
    this.problem = problem
    this.address = address
    this.reason = address === undefined ? problem : `${problem}, or open ${address}`
  }

  /** The user has to open an address, for more authorization if there are tokens already. */
  static needed(server: string, address: string, hasTokens: boolean): AuthorizationFailure {
    const what = hasTokens ? 'more authorization than it was given' : 'authorization'
    return new AuthorizationFailure(server, `it requires ${what}: run "toolyard mcp login ${server}"`, address)
  }
}
