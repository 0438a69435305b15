import type { ServerToolNames } from './server-tool-names.ts'

/** How it stands with one configured MCP server: nothing of how it is reached but the transport. */
export interface McpServerStatus {
  readonly name: string
  /** Its path in the configuration. */
  readonly place: string
  /** `left_out`: it lacks something, such as a variable; `idle`: tools are switched off. */
  readonly state: 'connected' | 'connecting' | 'not_reachable' | 'left_out' | 'disabled' | 'idle'
  readonly transport?: 'stdio' | 'http' | 'sse'
  readonly attempts?: number
  /** When the connection was made or lost. */
  readonly since?: string
  readonly next_attempt_in_ms?: number
  /** What went wrong last, and when; it stays when the connection is there again. */
  readonly problem?: string
  readonly problem_at?: string
  readonly stderr?: string
  readonly check?: string
  /** What was there when it was last connected. */
  readonly tools: readonly ServerToolNames[]
}
