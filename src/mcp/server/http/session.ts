import type { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import type { McpServer } from '@modelcontextprotocol/server'
import type { CallContext } from '../../../core/call-context.ts'
import type { Cancellation } from '../../../core/cancellation.ts'
import type { Caller } from '../caller.ts'

/** A client of an older era, which the server keeps in mind between its requests. */
export interface Session extends Holder {
  readonly id: string
  readonly caller: Caller
  readonly connection: McpServer
  readonly transport: NodeStreamableHTTPServerTransport
  /** Calls that run outside the SDK, by the id of their request. */
  readonly calls: Map<string | number, Cancellation>
  /** Requests and streams that are open. */
  open: number
  lastUsedMs: number
}

/** The key that a session or a stream belongs to, and its tenant. */
export interface Holder {
  readonly tenant: string
  /** Names tenant and key: nobody else may use the session, even with its id. */
  readonly owner: string
}

/** The holder of what a request opens. Without keys there is only one. */
export const holderOf = ({ tenant = '', caller = '' }: CallContext): Holder => ({
  tenant,
  owner: JSON.stringify([tenant, caller]),
})
