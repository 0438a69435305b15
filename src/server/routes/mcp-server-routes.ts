import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { McpServerStatus } from '../../app/tools/mcp-status.ts'
import { usableTools } from '../../app/tools/usable-tools.ts'
import { within } from '../../core/clock.ts'
import { payloadJson } from '../../core/records/redact.ts'
import type { McpConnection } from '../../mcp/client/mcp-connection.ts'
import type { ReadMethod, ServerAnswer } from '../../mcp/client/sent-request.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, pathParameter, route, TEXT, TIME } from '../http/route.ts'
import type { McpAnswer, McpTraffic } from '../http/views.ts'

/** After this time the response says that the server is still connecting. */
const RECONNECT_TIMEOUT_MS = 5_000

const SERVER = {
  type: 'object',
  required: ['name', 'place', 'state', 'tools'],
  properties: {
    name: { type: 'string', examples: ['files'] },
    place: { type: 'string', examples: ['mcpServers.files'], description: 'The path in the configuration.' },
    state: {
      enum: ['connected', 'connecting', 'not_reachable', 'left_out', 'disabled', 'idle'],
      description: 'left_out: cannot be used, for example because a variable is not set; idle: tools are disabled.',
    },
    transport: { enum: ['stdio', 'http', 'sse'] },
    attempts: { ...COUNT, description: 'Attempts to connect since the connection was lost.' },
    since: { ...TIME, description: 'When the server connected or disconnected.' },
    next_attempt_in_ms: COUNT,
    problem: { type: 'string', description: 'The last error.' },
    problem_at: TIME,
    stderr: { type: 'string', description: "The last lines, without secrets. Needs the scope 'installation'." },
    check: { type: 'string', description: "What to check. Needs the scope 'installation'." },
    waiting: list(
      {
        tool: TEXT,
        change: { enum: ['new', 'changed'] },
        parts: { type: 'array', items: TEXT, description: 'What changed.' },
        description: TEXT,
        version: TEXT,
        fingerprint: TEXT,
      },
      "Tools of a pinned server that wait for approval. Needs the scope 'installation'.",
    ),
    tools: list({ name: TEXT, tool: TEXT }, 'Each tool: its name in the registry, and its name on the server.'),
  },
}

const TRAFFIC = object({
  contents: { type: 'boolean', description: 'Whether the contents of messages are shown.' },
  messages: list(
    {
      number: COUNT,
      time: TIME,
      direction: { enum: ['sent', 'received'] },
      kind: { enum: ['request', 'response', 'error', 'notification', 'noise'] },
      method: TEXT,
      id: TEXT,
      ms: { type: 'number', description: 'How long the response took.' },
      content: { description: 'The parameters, the result, the error or the noise, shortened.' },
    },
    'The last messages, oldest first.',
  ),
  requests: list(
    {
      number: COUNT,
      time: TIME,
      method: TEXT,
      status: { ...COUNT, description: 'Absent if the connection failed.' },
      ms: { type: 'number' },
    },
    'The last requests over HTTP, oldest first, without addresses and headers.',
  ),
  stderr: TEXT,
})

/** Requests by hand that wait for their answers at the same time. */
const MAX_REQUESTS = 4
const MAX_PARAMS_CHARACTERS = 65_536
const MAX_ANSWER_CHARACTERS = 262_144

const ANSWER = object(
  {
    method: TEXT,
    ms: { type: 'number', description: 'How long the server took.' },
    result: { description: 'What the server answered, without secrets and media.' },
    shortened: { type: 'boolean', description: 'Whether a part of the result was left out.' },
    error: object({ code: COUNT, message: TEXT }, 'The JSON-RPC error.'),
  },
  'The answer: a result or an error',
)

/** The MCP servers whose tools are used. They belong to the installation, not to a tenant. */
export function mcpServerRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.get(
    '/api/mcp/servers',
    route('observe', 'mcp', 'Lists the MCP servers whose tools you may use, with their state', {
      description: "With the scope 'installation': all servers, with stderr and what to check.",
      response: { 200: object({ servers: { type: 'array', items: SERVER } }, 'The servers') },
    }),
    ({ caller }) => ({ servers: visible(installation.manager.getMcpStatus(), caller) }),
  )

  app.get<{ Params: { name: string } }>(
    '/api/mcp/servers/:name/traffic',
    route('installation', 'mcp', 'Returns the last JSON-RPC messages, requests and lines of stderr of an MCP server', {
      description:
        'Of this server process, without secrets. Without the contents of messages unless storage.payloads is all.',
      params: pathParameter('name', 64),
      response: { 200: TRAFFIC },
    }),
    ({ params: { name } }): McpTraffic => {
      const connection = connectionOf(name)
      const { messages = [], requests = [] } = connection.traffic ?? {}
      const contents = installation.payloads === 'all'
      return {
        contents,
        messages: messages.map(({ at, content, ...message }) => ({
          ...message,
          time: new Date(at).toISOString(),
          ...(contents && { content: JSON.parse(content) }),
        })),
        requests: requests.map(({ at, ...request }) => ({ ...request, time: new Date(at).toISOString() })),
        stderr: connection.standing().stderr,
      }
    },
  )

  let requests = 0
  app.post<{ Params: { name: string }; Body: { method: string; params?: Record<string, unknown> } }>(
    '/api/mcp/servers/:name/requests',
    route('installation', 'mcp', 'Sends a request to an MCP server and returns its answer', {
      description: "Methods that read. Also needs the scope 'call'. Tools are called with POST /tools/execute.",
      params: pathParameter('name', 64),
      body: {
        ...exactly({
          method: { ...TEXT, minLength: 1, maxLength: 100, examples: ['prompts/list'] },
          params: { type: 'object', description: 'Up to 64 KB.' },
        }),
        required: ['method'],
      },
      response: { 200: ANSWER },
    }),
    async ({ caller, params: { name }, body: { method, params = {} } }): Promise<McpAnswer> => {
      if (!caller.scopes.has('call')) {
        throw new HttpProblem(403, "Your key lacks the scope 'call'", 'it needs call and installation')
      }
      const connection = connectionOf(name)
      const { READ_METHODS, sendRequest } = await import('../../mcp/client/sent-request.ts')
      if (!READ_METHODS.includes(method as ReadMethod)) {
        const other = `send one of ${READ_METHODS.join(', ')}`
        const advice = method === 'tools/call' ? 'call the tool with POST /tools/execute' : other
        throw new HttpProblem(422, `'${method}' cannot be sent by hand`, advice)
      }
      if (JSON.stringify(params).length > MAX_PARAMS_CHARACTERS) throw new HttpProblem(413, 'params is over 64 KB')
      if (requests >= MAX_REQUESTS) {
        throw new HttpProblem(429, `${MAX_REQUESTS} requests by hand wait for answers`, 'try again in a moment')
      }
      requests++
      const started = installation.clock.now()
      let answer: ServerAnswer | undefined
      try {
        await installation.manager.getExecutor().count(installation.callers.context(caller, 'rest'))
        answer = await sendRequest(connection, method as ReadMethod, params)
      } finally {
        requests--
        const failed = answer === undefined || 'error' in answer
        const detail = { method, ...(answer && 'error' in answer && { code: answer.error.code }) }
        await installation.events.record('mcp.requested', {
          by: caller,
          subject: name,
          content: params,
          failed,
          detail,
        })
      }
      const ms = installation.clock.now() - started
      if ('error' in answer) return { method, ms, error: answer.error }
      const { text, shortened } = payloadJson(answer.result, MAX_ANSWER_CHARACTERS)
      return { method, ms, result: JSON.parse(text), ...(shortened && { shortened }) }
    },
  )

  app.post<{ Params: { name: string } }>(
    '/api/mcp/servers/:name/reconnect',
    route('installation', 'mcp', 'Reconnects to an MCP server', {
      params: pathParameter('name', 64),
      response: { 200: { description: 'The server, which may still be connecting', ...SERVER } },
    }),
    async ({ params: { name } }) => {
      const find = () => installation.manager.getMcpStatus().find((server) => server.name === name)
      const known = found(find(), `MCP server '${name}'`, 'GET /api/mcp/servers lists them')
      if (known.state in UNUSED) {
        throw new HttpProblem(409, `MCP server '${name}' is not used`, UNUSED[known.state as keyof typeof UNUSED])
      }
      const servers = installation.manager.getMcpServers()
      await within(RECONNECT_TIMEOUT_MS, servers.connection(name).reconnect(), installation.clock)
      return find() ?? known
    },
  )

  app.post<{ Params: { name: string }; Body: { fingerprints: readonly string[] } }>(
    '/api/mcp/servers/:name/approve',
    route('installation', 'mcp', 'Approves the tools of a pinned MCP server that wait', {
      params: pathParameter('name', 64),
      body: {
        ...exactly({ fingerprints: { type: 'array', items: { ...TEXT, maxLength: 200 }, maxItems: 5_000 } }),
        required: ['fingerprints'],
      },
      response: { 200: { description: 'The server', ...SERVER } },
    }),
    async ({ caller, params: { name }, body }) => {
      const find = () => installation.manager.getMcpStatus().find((server) => server.name === name)
      const known = found(find(), `MCP server '${name}'`, 'GET /api/mcp/servers lists them')
      if (await installation.manager.getMcpServers().approve(name, body.fingerprints, caller)) return find() ?? known
      throw new HttpProblem(409, `The tools of MCP server '${name}' have changed again`, 'look at what waits now')
    },
  )

  function connectionOf(name: string): McpConnection {
    const servers = installation.manager.getMcpServers()
    const known = servers.names.find((one) => one === name)
    return servers.connection(found(known, `MCP server '${name}'`, 'GET /api/mcp/servers lists them'))
  }

  /** A tenant sees only servers that have tools for it. */
  function visible(servers: McpServerStatus[], caller: FastifyRequest['caller']): McpServerStatus[] {
    if (caller.scopes.has('installation')) return servers
    const usable = new Set(usableTools(installation, caller).map(({ name }) => name))
    return servers
      .map(({ stderr: _stderr, check: _check, waiting: _waiting, ...server }) => ({
        ...server,
        tools: server.tools.filter(({ name }) => usable.has(name)),
      }))
      .filter(({ tools }) => tools.length > 0)
  }
}

const UNUSED = {
  left_out: 'it cannot be used: GET /api/mcp/servers shows the problem',
  disabled: 'remove "disabled" from its entry in the configuration',
  idle: 'tools are disabled: set "tools": {"enabled": true} in the configuration',
} as const
