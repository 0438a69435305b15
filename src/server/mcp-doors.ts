import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../config/callers/caller.ts'
import type { Installation } from '../config/installation.ts'
import type { CallContext } from '../core/call-context.ts'
import { HttpDoor } from '../mcp/server/http/http-door.ts'
import { ToolServer } from '../mcp/server/tool-server.ts'
import { sessionName } from './caller-of-request.ts'

interface Door {
  readonly door: HttpDoor
  readonly server: ToolServer
  /** How many requests it is answering, streams that only listen left aside. */
  running: number
}

/** The tools over MCP: a new door when the configuration has been read again, while the old one ends what it began. */
export class McpDoors {
  readonly #installation: Installation
  readonly #version: string
  readonly #callers = new WeakMap<IncomingMessage, Caller>()
  readonly #old = new Set<Door>()
  readonly #stopListening: () => void
  #current: Door

  constructor(installation: Installation, version: string) {
    this.#installation = installation
    this.#version = version
    this.#current = this.#open()
    this.#stopListening = installation.onReload(() => {
      const old = this.#current
      this.#old.add(old)
      this.#current = this.#open()
      this.#endIfIdle(old)
    })
  }

  get busy(): boolean {
    return [this.#current, ...this.#old].some(({ running }) => running > 0)
  }

  /** Answers a request of this caller. */
  async handle(caller: Caller, request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#callers.set(request, caller)
    const door = this.#current
    if (request.method === 'POST') {
      door.running++
      response.once('close', () => {
        door.running--
        this.#endIfIdle(door)
      })
    }
    await door.door.handle(request, response)
  }

  /** Ends all sessions and streams, and cancels what is running. */
  async close(): Promise<void> {
    this.#stopListening()
    await Promise.all([this.#current, ...this.#old].map(end))
    this.#old.clear()
  }

  #open(): Door {
    const { manager, log, clock, config } = this.#installation
    const executor = manager.getExecutor()
    const servers = manager.getMcpServers()
    const server = new ToolServer({
      registry: manager.getRegistry(),
      executor,
      version: this.#version,
      log,
      clock,
      effectOf: ({ name }) => executor.effectOf(name),
      ...(servers.names.length > 0 && { library: servers.library }),
    })
    const hosts = config.server?.hosts ?? []
    return { door: new HttpDoor(server, { contextOf: this.#contextOf, hosts }), server, running: 0 }
  }

  readonly #contextOf = (request: IncomingMessage): CallContext => {
    const { headers } = request
    const session = sessionName(headers['mcp-session-id'] ?? headers['x-session-id'])
    return this.#installation.callers.context(this.#callers.get(request) as Caller, 'mcp', session)
  }

  #endIfIdle(door: Door): void {
    if (door.running === 0 && this.#old.delete(door)) void end(door)
  }
}

async function end({ door, server }: Door): Promise<void> {
  await door.close()
  server.close()
}
