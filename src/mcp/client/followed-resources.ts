import type { Client, McpSubscription } from '@modelcontextprotocol/client'
import type { CallContext } from '../../core/call-context.ts'
import type { Clock } from '../../core/clock.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { McpConnection } from './mcp-connection.ts'

const REQUEST_TIMEOUT_MS = 10_000
/** Resources of one server that clients follow: all of them, those of one tenant, and those of one caller. */
const MAX_FOLLOWED = 1_000
const MAX_OF_TENANT = 250
const MAX_OF_CALLER = 100
/** Updates of a resource within this time are told once. */
const SETTLE_MS = 100

/** A resource that clients follow. */
interface Followed {
  readonly listeners: Set<() => void>
  /** How many of them each tenant and each caller has. */
  readonly holders: Map<string, number>
  subscription: Promise<McpSubscription | undefined>
  cancelTell: (() => void) | undefined
}

/** The resources of servers that clients follow. A server is told once of all that follow one. */
export class FollowedResources {
  readonly #clock: Clock
  readonly #followed = new WeakMap<McpConnection, Map<string, Followed>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls back when the resource changes, until the returned function is called. */
  async add(connection: McpConnection, entry: string, context: CallContext, listener: () => void): Promise<() => void> {
    const all = this.#followed.get(connection) ?? new Map<string, Followed>()
    this.#followed.set(connection, all)
    const known = all.get(entry)
    const holders = holdersOf(context)
    requireShare(connection.settings.name, all, known, holders)
    const followed = known ?? {
      listeners: new Set(),
      holders: new Map(),
      subscription: this.#follow(connection, entry),
      cancelTell: undefined,
    }
    all.set(entry, followed)
    followed.listeners.add(listener)
    for (const { id } of holders) followed.holders.set(id, (followed.holders.get(id) ?? 0) + 1)
    const stop = (): void => {
      if (!followed.listeners.delete(listener)) return
      for (const { id } of holders) {
        const left = (followed.holders.get(id) ?? 0) - 1
        if (left > 0) followed.holders.set(id, left)
        else followed.holders.delete(id)
      }
      if (followed.listeners.size > 0) return
      all.delete(entry)
      followed.cancelTell?.()
      void this.#unfollow(connection, entry, followed).catch(() => {})
    }
    try {
      await followed.subscription
      return stop
    } catch (error) {
      stop()
      throw error
    }
  }

  /** Follows on a new connection what clients follow. */
  connected(connection: McpConnection): void {
    for (const [uri, followed] of this.#followed.get(connection) ?? []) {
      followed.subscription = this.#follow(connection, uri)
      followed.subscription.catch(() => {})
    }
  }

  updated(connection: McpConnection, uri: string): void {
    const followed = this.#followed.get(connection)?.get(uri)
    if (followed === undefined) return
    followed.cancelTell ??= this.#clock.after(SETTLE_MS, () => {
      followed.cancelTell = undefined
      for (const listener of followed.listeners) listener()
    })
  }

  #follow(connection: McpConnection, uri: string): Promise<McpSubscription | undefined> {
    return askServer(connection, async (client, signal) => {
      if (client.getProtocolEra() !== 'legacy')
        return client.listen({ resourceSubscriptions: [uri] }, { timeout: REQUEST_TIMEOUT_MS })
      await client.subscribeResource({ uri }, { signal })
      return undefined
    })
  }

  async #unfollow(connection: McpConnection, uri: string, { subscription }: Followed): Promise<void> {
    const listening = await subscription
    if (listening !== undefined) return listening.close()
    if (connection.connected)
      await askServer(connection, (client, signal) => client.unsubscribeResource({ uri }, { signal }))
  }
}

interface Share {
  readonly id: string
  readonly name: string
  readonly most: number
}

const holdersOf = ({ tenant = LOCAL_TENANT, caller = '' }: CallContext): readonly Share[] => [
  { id: JSON.stringify([tenant]), name: `Tenant '${tenant}'`, most: MAX_OF_TENANT },
  { id: JSON.stringify([tenant, caller]), name: `Caller '${caller}'`, most: MAX_OF_CALLER },
]

/** Throws if there is no place for one more resource of a server that someone follows. */
function requireShare(
  server: string,
  all: ReadonlyMap<string, Followed>,
  known: Followed | undefined,
  holders: readonly Share[],
): void {
  const refuse = (who: string, most: number): never => {
    const message = `${who} may follow ${most} resources of MCP server '${server}': unsubscribe from some`
    throw new ToolExecutionError('RATE_LIMITED', message)
  }
  for (const { id, name, most } of holders) {
    if (known?.holders.has(id)) continue
    if ([...all.values()].filter((one) => one.holders.has(id)).length >= most) refuse(name, most)
  }
  if (known === undefined && all.size >= MAX_FOLLOWED) refuse('All callers together', MAX_FOLLOWED)
}

/** Sends a request to a server, for a limited time. */
export async function askServer<T>(
  connection: McpConnection,
  ask: (client: Client, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  return ask(await connection.client(signal), signal)
}
