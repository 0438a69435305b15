import type { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import type { McpServer } from '@modelcontextprotocol/server'
import type { CallContext } from '../../../core/call-context.ts'
import type { Cancellation } from '../../../core/cancellation.ts'
import type { Caller } from '../caller.ts'

/** A client of an older era, which the server keeps in mind between its requests. */
export interface Session {
  readonly id: string
  readonly owner: string
  readonly caller: Caller
  readonly connection: McpServer
  readonly transport: NodeStreamableHTTPServerTransport
  /** Calls that run outside the SDK, by the id of their request. */
  readonly calls: Map<string | number, Cancellation>
  /** Requests and streams that are open. */
  open: number
  lastUsedMs: number
}

/** Names whom a session belongs to: nobody else may use it, even who knows its id. */
export const ownerOf = ({ tenant = '', caller = '' }: CallContext): string => JSON.stringify([tenant, caller])
