import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server'
import { writeLog } from '../../../core/log.ts'
import type { Caller } from '../caller.ts'
import { openConnection } from '../open-connection.ts'
import type { ToolServer } from '../tool-server.ts'
import { type Holder, holderOf } from './session.ts'
import { oldestOfGreediest } from './session-table.ts'

/** A stream of a client that listens for changes. */
interface Listener extends Holder {
  readonly response: ServerResponse
}

/** The SDK's way of serving requests that stand for themselves, each with the caller it came from. */
export class StatelessDoor {
  readonly #handler: McpHttpHandler
  readonly #callers = new WeakMap<Request, Caller>()
  /** The oldest comes first. */
  readonly #listeners = new Set<Listener>()
  readonly #maxListeners: number
  readonly #stop: () => void

  constructor(server: ToolServer, maxListeners: number) {
    this.#maxListeners = maxListeners
    this.#handler = createMcpHandler(
      ({ requestInfo }) => {
        const caller = requestInfo && this.#callers.get(requestInfo)
        if (caller === undefined) throw new Error('A request to the MCP server has no caller')
        return openConnection(server, caller)
      },
      {
        // The SDK would refuse everybody once one caller has taken all places; see #listen.
        maxSubscriptions: Number.POSITIVE_INFINITY,
        onerror: (error) => writeLog(server.log, 'debug', { err: error }, 'A request to the MCP server was refused'),
      },
    )
    const { notify } = this.#handler
    const tell = { tools: notify.toolsChanged, resources: notify.resourcesChanged, prompts: notify.promptsChanged }
    this.#stop = server.onChange((what) => tell[what]())
  }

  handle(request: IncomingMessage, response: ServerResponse, body: unknown, caller: Caller): Promise<void> {
    if (Object(body).method === 'subscriptions/listen') this.#listen({ ...holderOf(caller.context), response })
    const answer = toNodeHandler({
      fetch: (converted, options) => {
        this.#callers.set(converted, caller)
        return this.#handler.fetch(converted, options)
      },
    })
    // The SDK's own type for a request has no `undefined` where Node's has.
    return answer(request as Parameters<typeof answer>[0], response, body)
  }

  /** Bounds the streams as the table bounds sessions: if there are too many, one of the greediest holder ends. */
  #listen(listener: Listener): void {
    if (this.#listeners.size >= this.#maxListeners) {
      const victim = oldestOfGreediest(this.#listeners, listener)
      if (victim !== undefined) this.#listeners.delete(victim)
      victim?.response.destroy()
    }
    this.#listeners.add(listener)
    listener.response.once('close', () => this.#listeners.delete(listener))
  }

  /** Ends the streams of those who listen for changes, and cancels what is running. */
  close(): Promise<void> {
    this.#stop()
    return this.#handler.close()
  }
}
