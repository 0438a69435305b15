import { ToolExecutionError } from '../../core/tool-execution-error.ts'

/**
 * A server that could not be used for want of authorization. The message is for whoever calls a tool; the reason, which
 * holds the address to open, for whoever runs this machine.
 */
export class AuthorizationFailure extends ToolExecutionError {
  /** What is wrong, as the end of a sentence about the server. */
  readonly problem: string
  readonly reason: string
  /** The address to open, where an authorization was begun. */
  readonly address: string | undefined

  constructor(server: string, problem: string, address?: string) {
    super('SERVICE_UNAVAILABLE', `MCP server '${server}' cannot be used: ${problem}`)
    this.problem = problem
    this.address = address
    this.reason = address === undefined ? problem : `${problem}, or open ${address}`
  }

  /** Somebody has to open an address; `wants` says what for. */
  static needed(server: string, address: string, wants = 'authorization'): AuthorizationFailure {
    return new AuthorizationFailure(server, `it wants ${wants}: run "toolyard mcp login ${server}"`, address)
  }
}
