import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import type { CallContext } from '../../core/call-context.ts'
import { HttpHandler, MAX_SESSIONS } from '../../mcp/server/http/http-handler.ts'
import type { ServedPart } from '../../mcp/server/served-part.ts'
import { ToolServer } from '../../mcp/server/tool-server.ts'
import { sessionName } from '../http/context.ts'
import { found } from '../http/problem.ts'
import { pathParameter } from '../http/route.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly mcp: McpEndpoint
  }
}

/** Where the web UI shows an approval. */
const APPROVALS_PATH = '/approvals/'

/** The MCP server of one configuration. */
interface Generation {
  /** By name; the one without a name serves everything. */
  readonly parts: ReadonlyMap<string, { readonly handler: HttpHandler; readonly server: ToolServer }>
  /** Requests in progress, without streams that only listen. */
  running: number
}

/** The tools over MCP. A reload starts a new generation, while the old one finishes its requests. */
export class McpEndpoint {
  readonly #installation: Installation
  readonly #version: string
  readonly #callers = new WeakMap<IncomingMessage, Caller>()
  readonly #old = new Set<Generation>()
  readonly #stopListening: () => void
  #current: Generation

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

  /** Whether there is a server of this name. */
  has(name: string): boolean {
    return this.#current.parts.has(name)
  }

  async handle(caller: Caller, name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#callers.set(request, caller)
    const generation = this.#current
    if (request.method === 'POST') {
      generation.running++
      response.once('close', () => {
        generation.running--
        this.#endIfIdle(generation)
      })
    }
    await generation.parts.get(name)?.handler.handle(request, response)
  }

  /** Ends the sessions and streams of these callers, and cancels their calls. */
  endCallers(ids: ReadonlySet<string>): void {
    for (const { parts } of [this.#current, ...this.#old]) {
      for (const { handler } of parts.values()) handler.endCallers(ids)
    }
  }

  /** Ends all sessions and streams, and cancels running calls. */
  async close(): Promise<void> {
    this.#stopListening()
    await Promise.all([this.#current, ...this.#old].map(end))
    this.#old.clear()
  }

  #open(): Generation {
    const { manager, log, clock, config } = this.#installation
    const executor = manager.getExecutor()
    const servers = manager.getMcpServers()
    const all = new Map<string, ServedPart | undefined>([
      ['', undefined],
      ...Object.entries(config.mcp?.servers_out ?? {}),
    ])
    const maxSessions = Math.ceil(MAX_SESSIONS / all.size)
    const { hosts: named = [], public_url, cors_origins: origins = [] } = config.server ?? {}
    const hosts = public_url === undefined ? named : [...named, new URL(public_url).hostname]
    const options = { contextOf: this.#contextOf, hosts, origins, onForeignSession: this.#recordForeign, maxSessions }
    const open = (part: ServedPart | undefined) => {
      const server = new ToolServer({
        registry: manager.getRegistry(),
        executor,
        version: this.#version,
        log,
        clock,
        part,
        effectOf: ({ name }) => executor.effectOf(name),
        approvals: this.#installation.approvals.forMcp(APPROVALS_PATH, public_url),
        // A search would find tools outside the part.
        ...(part === undefined && { discovery: manager.getDiscovery() }),
        ...(servers.names.length > 0 && { library: servers.library }),
      })
      return { server, handler: new HttpHandler(server, options) }
    }
    return { parts: new Map([...all].map(([name, part]) => [name, open(part)])), running: 0 }
  }

  readonly #contextOf = (request: IncomingMessage): CallContext | undefined => {
    const { headers } = request
    const { callers } = this.#installation
    const caller = this.#callers.get(request) as Caller
    const session = sessionName(headers['mcp-session-id'] ?? headers['x-session-id'])
    // The key may have ended while the body was sent.
    return callers.isValid(caller.id) ? callers.context(caller, 'mcp', session) : undefined
  }

  readonly #recordForeign = (request: IncomingMessage, tenant: string): void =>
    this.#installation.events.crossed(this.#callers.get(request) as Caller, 'MCP session', tenant)

  #endIfIdle(generation: Generation): void {
    if (generation.running === 0 && this.#old.delete(generation)) void end(generation)
  }
}

async function end({ parts }: Generation): Promise<void> {
  const closed = [...parts.values()].map(async ({ handler, server }) => {
    await handler.close()
    server.close()
  })
  await Promise.all(closed)
}

const METHODS = {
  POST: 'Sends one message to the MCP server and returns its response',
  GET: 'Streams the messages of the MCP server to a session',
  DELETE: 'Ends a session',
} as const

/** `/mcp` and `/mcp/<name>`: the tools over the Model Context Protocol, streamable HTTP. */
export function mcpRoutes(app: FastifyInstance): void {
  const { mcp } = app
  app.register(async (routes) => {
    // The MCP handler reads bodies itself, by the rules of the protocol.
    routes.removeAllContentTypeParsers()
    routes.addContentTypeParser('*', (_request, _payload, done) => done(null))
    const all = Object.entries(METHODS).flatMap(([method, summary]) => [
      { method, url: '/mcp', schema: { summary } },
      {
        method,
        url: '/mcp/:name',
        schema: { summary: `${summary}, for a part of the tools (mcp.servers_out)`, params: pathParameter('name', 64) },
      },
    ])
    for (const { method, url, schema } of all) {
      routes.route<{ Params: { name?: string } }>({
        method,
        url,
        config: { scope: 'call', stays: true, actsFor: true, isMcp: true },
        schema: { ...schema, tags: ['mcp'] },
        handler: async ({ caller, raw, params: { name = '' } }, reply) => {
          found(mcp.has(name) || undefined, `MCP server '${name}'`, 'mcp.servers_out in the configuration lists them')
          reply.hijack()
          for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value as string)
          await mcp.handle(caller, name, raw, reply.raw)
        },
      })
    }
  })
}
