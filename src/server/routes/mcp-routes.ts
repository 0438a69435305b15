import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Caller } from '../../config/callers/caller.ts'
import type { Installation } from '../../config/installation.ts'
import type { McpServerStatus } from '../../config/mcp-server-status.ts'
import type { CallContext } from '../../core/call-context.ts'
import { HttpHandler } from '../../mcp/server/http/http-handler.ts'
import { ToolServer } from '../../mcp/server/tool-server.ts'
import { sessionName } from '../http/context.ts'
import { HttpProblem } from '../http/problem.ts'
import { usableTools } from './tool-routes.ts'

/** How long an answer waits for the connection that was asked for; then it says how far that has come. */
const PATIENCE_MS = 5_000

const TIME = { type: 'string', format: 'date-time' }
const SERVER = {
  type: 'object',
  required: ['name', 'place', 'state', 'tools'],
  properties: {
    name: { type: 'string', examples: ['files'] },
    place: { type: 'string', examples: ['mcpServers.files'], description: 'Where it stands in the configuration.' },
    state: {
      enum: ['connected', 'connecting', 'not_reachable', 'left_out', 'disabled', 'idle'],
      description: 'left_out: it lacks something, such as a variable; idle: tools are switched off.',
    },
    transport: { enum: ['stdio', 'http', 'sse'] },
    attempts: { type: 'integer', description: 'To connect, since it was last lost.' },
    since: { ...TIME, description: 'When the connection was made or lost.' },
    next_attempt_in_ms: { type: 'integer' },
    problem: { type: 'string', description: 'What went wrong last.' },
    problem_at: TIME,
    stderr: { type: 'string', description: "Its last lines, without secrets; with the scope 'installation'." },
    check: { type: 'string', description: "What to look at; with the scope 'installation'." },
    tools: {
      type: 'array',
      items: { type: 'object', properties: { name: { type: 'string' }, tool: { type: 'string' } } },
      description: 'What it gives: the name here, and the name there.',
    },
  },
}

/** The MCP servers that tools come from. They belong to the installation, not to a tenant. */
export function mcpServerRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.get(
    '/api/mcp/servers',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'The MCP servers whose tools you may use, and how each stands',
        description: "With the scope 'installation' all of them, with what they said last.",
        tags: ['mcp'],
        response: {
          200: {
            description: 'The servers',
            type: 'object',
            properties: { servers: { type: 'array', items: SERVER } },
          },
        },
      },
    },
    ({ caller }) => ({ servers: visible(installation.manager.getMcpStatus(), caller) }),
  )

  app.post<{ Params: { name: string } }>(
    '/api/mcp/servers/:name/reconnect',
    {
      config: { scope: 'installation' },
      schema: {
        summary: 'Lets go of the connection to an MCP server, and makes a new one',
        tags: ['mcp'],
        params: { type: 'object', properties: { name: { type: 'string', maxLength: 64 } } },
        response: { 200: { description: 'How it stands then; it may still be connecting', ...SERVER } },
      },
    },
    async ({ params: { name } }) => {
      const find = () => installation.manager.getMcpStatus().find((server) => server.name === name)
      const known = find()
      if (known === undefined) throw new HttpProblem(404, `MCP server '${name}' not found`, LISTED)
      if (known.state in UNUSED) {
        throw new HttpProblem(409, `MCP server '${name}' is not used`, UNUSED[known.state as keyof typeof UNUSED])
      }
      const servers = installation.manager.getMcpServers()
      let callOff = (): void => {}
      const late = new Promise<void>((resolve) => {
        callOff = installation.clock.after(PATIENCE_MS, resolve)
      })
      await Promise.race([servers.connection(name).reconnect(), late])
      callOff()
      return find() ?? known
    },
  )

  /** A tenant sees the servers that it can get something from. */
  function visible(servers: McpServerStatus[], caller: FastifyRequest['caller']): McpServerStatus[] {
    if (caller.scopes.has('installation')) return servers
    const usable = new Set(usableTools(installation, caller).map(({ name }) => name))
    return servers
      .map(({ stderr: _stderr, check: _check, ...server }) => ({
        ...server,
        tools: server.tools.filter(({ name }) => usable.has(name)),
      }))
      .filter(({ tools }) => tools.length > 0)
  }
}

const LISTED = 'GET /api/mcp/servers lists them'
const UNUSED = {
  left_out: 'it lacks something: GET /api/mcp/servers says what',
  disabled: 'take "disabled" out of its entry in the configuration',
  idle: 'tools are switched off: "tools": {"enabled": true} switches them on',
} as const

declare module 'fastify' {
  interface FastifyInstance {
    readonly mcp: McpEndpoint
  }
}

/** The MCP server of one configuration. */
interface Generation {
  readonly handler: HttpHandler
  readonly server: ToolServer
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

  async handle(caller: Caller, request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#callers.set(request, caller)
    const generation = this.#current
    if (request.method === 'POST') {
      generation.running++
      response.once('close', () => {
        generation.running--
        this.#endIfIdle(generation)
      })
    }
    await generation.handler.handle(request, response)
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
    return { handler: new HttpHandler(server, { contextOf: this.#contextOf, hosts }), server, running: 0 }
  }

  readonly #contextOf = (request: IncomingMessage): CallContext => {
    const { headers } = request
    const session = sessionName(headers['mcp-session-id'] ?? headers['x-session-id'])
    return this.#installation.callers.context(this.#callers.get(request) as Caller, 'mcp', session)
  }

  #endIfIdle(generation: Generation): void {
    if (generation.running === 0 && this.#old.delete(generation)) void end(generation)
  }
}

async function end({ handler, server }: Generation): Promise<void> {
  await handler.close()
  server.close()
}

const METHODS = {
  POST: 'One message to the MCP server, and its answer',
  GET: 'The messages that the MCP server has for a session, as events',
  DELETE: 'Ends a session',
} as const

/** `/mcp`: the tools over the Model Context Protocol, streamable HTTP. */
export function mcpRoutes(app: FastifyInstance): void {
  const { mcp } = app
  app.register(async (routes) => {
    // The MCP handler reads bodies itself, by the rules of the protocol.
    routes.removeAllContentTypeParsers()
    routes.addContentTypeParser('*', (_request, _payload, done) => done(null))
    for (const [method, summary] of Object.entries(METHODS)) {
      routes.route({
        method,
        url: '/mcp',
        config: { scope: 'call', stays: true },
        schema: { summary, tags: ['mcp'] },
        handler: async ({ caller, raw }, reply) => {
          reply.hijack()
          for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value as string)
          await mcp.handle(caller, raw, reply.raw)
        },
      })
    }
  })
}
