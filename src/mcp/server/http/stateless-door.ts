import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server'
import { writeLog } from '../../../core/log.ts'
import type { Caller } from '../caller.ts'
import { openConnection } from '../open-connection.ts'
import type { ToolServer } from '../tool-server.ts'

/** The SDK's way of serving requests that stand for themselves, each with the caller it came from. */
export class StatelessDoor {
  readonly #handler: McpHttpHandler
  readonly #callers = new WeakMap<Request, Caller>()
  readonly #stop: () => void

  constructor(server: ToolServer) {
    this.#handler = createMcpHandler(
      ({ requestInfo }) => {
        const caller = requestInfo && this.#callers.get(requestInfo)
        if (caller === undefined) throw new Error('A request to the MCP server has no caller')
        return openConnection(server, caller)
      },
      { onerror: (error) => writeLog(server.log, 'debug', { err: error }, 'A request to the MCP server was refused') },
    )
    const { notify } = this.#handler
    const tell = { tools: notify.toolsChanged, resources: notify.resourcesChanged, prompts: notify.promptsChanged }
    this.#stop = server.onChange((what) => tell[what]())
  }

  handle(request: IncomingMessage, response: ServerResponse, body: unknown, caller: Caller): Promise<void> {
    const answer = toNodeHandler({
      fetch: (converted, options) => {
        this.#callers.set(converted, caller)
        return this.#handler.fetch(converted, options)
      },
    })
    // The SDK's own type for a request has no `undefined` where Node's has.
    return answer(request as Parameters<typeof answer>[0], response, body)
  }

  /** Ends the streams of those who listen for changes, and cancels what is running. */
  close(): Promise<void> {
    this.#stop()
    return this.#handler.close()
  }
}
