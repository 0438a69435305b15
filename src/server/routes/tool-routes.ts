import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Caller } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import type { McpServerStatus } from '../../app/tools/mcp-status.ts'
import { DEFAULT_FOUND, MAX_FOUND } from '../../chat/discovery.ts'
import { within } from '../../core/clock.ts'
import { missingPermission } from '../../core/execution/permit.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { packageOf, pinnedName, versionOf } from '../../core/execution/tool-view.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, pathParameter, route, TEXT, TIME } from '../http/route.ts'
import type { McpTraffic, PageTool, WholePageTool } from '../http/views.ts'

const NAME = { type: 'string', examples: ['get_weather'] }
const DESCRIPTION = { type: 'string', examples: ['The weather of a city'] }
const BROKEN = { type: 'string', description: 'Why the tool cannot be called; absent if it can.' }

const APPROVAL = { const: true, description: 'Calls may need approval; absent if they never do.' }

const VERSIONED = {
  version: { type: 'string', description: 'The version that you get; absent if it has none.', examples: ['1.2.0'] },
  deprecated: object({ since: TEXT, remove_after: TEXT, message: TEXT, use: TEXT }, 'Absent if it is not deprecated.'),
  versions: { type: 'array', items: TEXT, description: 'All versions, the oldest first, if there are several.' },
}

const TOOL = {
  name: NAME,
  description: DESCRIPTION,
  kind: { type: 'string', examples: ['http'] },
  effect: { enum: ['read', 'idempotent', 'write'] },
  origin: { type: 'string', description: '`configuration`, or the name of the MCP server or the package.' },
  permissions: { type: 'array', items: TEXT },
  approval: APPROVAL,
  ...VERSIONED,
  broken: BROKEN,
}

/** The tools of the caller for the web UI: kind and effect, but no implementation. */
export function pageToolsRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.get(
    '/api/page/tools',
    route('read', 'tools', 'Lists the tools for the web UI, without their schemas', {
      response: { 200: object({ tools: list(TOOL) }, 'The tools') },
    }),
    ({ caller }) => ({ tools: usableTools(installation, caller).map((tool) => shown(installation, tool)) }),
  )

  app.get<{ Params: { name: string } }>(
    '/api/page/tools/:name',
    route('read', 'tools', 'Returns one tool with the schema of its parameters', {
      params: pathParameter('name', 200),
      response: { 200: object({ ...TOOL, parameters: PARAMETERS, pipeline: PIPELINE }, 'The tool') },
    }),
    ({ caller, params: { name } }): WholePageTool => {
      const usable = usableTools(installation, caller).find((one) => one.name === name)
      const tool = found(usable, `Tool '${name}'`, 'GET /api/page/tools lists them')
      const graph = caller.scopes.has('observe') ? installation.manager.getPipeline(tool, caller.tenant) : undefined
      const pipeline = graph && installation.config.storage?.runs === false ? { steps: graph.steps } : graph
      return { ...shown(installation, tool), parameters: tool.parameters, ...(pipeline && { pipeline }) }
    },
  )
}

/** The version of a tool, and the others. */
function versioned(registry: ToolRegistry, { name, version, deprecated }: ToolDefinition) {
  return {
    ...(version !== undefined && { version }),
    ...(deprecated !== undefined && { deprecated }),
    ...(registry.hasVersions(name) && { versions: registry.versionsOf(name).map(versionOf) }),
  }
}

function shown({ manager }: Installation, tool: ToolDefinition): PageTool {
  const { name, description, implementation, permissions, approval } = tool
  const broken = manager.getRegistry().brokenReason(tool)
  const { type: kind = 'unknown', server } = implementation ?? {}
  return {
    name,
    description,
    kind,
    effect: manager.getExecutor().effectOf(pinnedName(tool)) ?? 'write',
    origin: packageOf(tool) ?? (kind === 'mcp' && typeof server === 'string' ? server : 'configuration'),
    permissions: permissions ?? [],
    ...(approval && { approval: true }),
    ...versioned(manager.getRegistry(), tool),
    broken,
  }
}

const PARAMETERS = { type: 'object', additionalProperties: true, description: 'JSON Schema of the parameters.' }

const STEP = { id: TEXT, tool: TEXT }

const PIPELINE = object(
  {
    steps: list({
      ...STEP,
      after: { type: 'array', items: TEXT, description: 'The steps that must end first.' },
      for_each: { type: 'boolean' },
      when: { type: 'boolean' },
    }),
    last_run: object({
      at: TIME,
      success: { type: 'boolean' },
      steps: list({
        ...STEP,
        status: { enum: ['not_run', 'running', 'done', 'skipped', 'failed', 'cancelled'] },
        value: { type: 'string', description: 'The start of its value, redacted.' },
        error: TEXT,
        error_code: TEXT,
        outcome: { const: 'unknown' },
      }),
    }),
  },
  'The steps of a pipeline, for callers with the scope observe.',
)

const HEALTH = object(
  {
    circuit: object(
      {
        state: { enum: ['closed', 'open', 'half_open'] },
        failures: { ...COUNT, description: 'Consecutive failures.' },
        retry_in_ms: { type: 'number' },
      },
      'The circuit breaker.',
    ),
    rate_limit: object({
      calls: COUNT,
      per_ms: { type: 'number' },
      remaining: { ...COUNT, description: 'The remaining calls on this server.' },
    }),
  },
  'The state of a tool that was called since the server started.',
)

const toolList = (properties: object, required: string[]) => ({
  200: {
    ...object({ tools: { type: 'array', items: { ...object(properties), required } } }, 'The tools'),
    required: ['tools'],
  },
})

/** Lists of the tools that the caller may use. */
export function toolRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.get(
    '/schema/tools',
    route('read', 'tools', 'Lists the tools as models see them', {
      response: toolList(
        {
          name: NAME,
          description: DESCRIPTION,
          type: { type: 'string', examples: ['function'] },
          parameters: PARAMETERS,
        },
        ['name', 'description', 'type', 'parameters'],
      ),
    }),
    ({ caller }) => ({
      tools: usableTools(installation, caller)
        .filter(({ deprecated }) => deprecated === undefined)
        .map(({ name, description, type = 'function', parameters }) => ({ name, description, type, parameters })),
    }),
  )

  app.get(
    '/api/tools/list',
    route('read', 'tools', 'Lists the tools with their kind and state', {
      response: toolList(
        {
          name: NAME,
          description: DESCRIPTION,
          parameters: PARAMETERS,
          implementation: object({ type: { type: 'string', examples: ['http'] } }),
          approval: APPROVAL,
          ...VERSIONED,
          broken: BROKEN,
          health: HEALTH,
        },
        ['name', 'description', 'parameters', 'implementation'],
      ),
    }),
    ({ caller }) => {
      const registry = installation.manager.getRegistry()
      const executor = installation.manager.getExecutor()
      return {
        tools: usableTools(installation, caller).map((tool) => {
          const { name, description, parameters, implementation, approval } = tool
          const broken = registry.brokenReason(tool)
          const state = executor.healthOf(name, caller.tenant)
          const health = Object.keys(state).length > 0 ? state : undefined
          // The rest of the implementation is private: handlers, mock responses, URLs, secrets.
          const type = implementation?.type
          const guarded = approval ? ({ approval: true } as const) : {}
          const more = { ...guarded, ...versioned(registry, tool) }
          return { name, description, parameters, implementation: { type }, ...more, broken, health }
        }),
      }
    },
  )
}

/** Searches the tools that the caller may use. */
export function searchRoute(app: FastifyInstance): void {
  const { installation } = app
  app.get<{ Querystring: { q: string; limit?: number } }>(
    '/api/tools/search',
    route('read', 'tools', 'Finds tools by what they do, the best first', {
      querystring: {
        ...exactly({
          q: { type: 'string', minLength: 1, maxLength: 1_000, description: 'A few words, which may be misspelled.' },
          limit: { type: 'integer', minimum: 1, maximum: MAX_FOUND, default: DEFAULT_FOUND },
        }),
        required: ['q'],
      },
      response: toolList({ name: NAME, description: DESCRIPTION, parameters: PARAMETERS }, [
        'name',
        'description',
        'parameters',
      ]),
    }),
    async ({ caller, query: { q, limit } }) => {
      const { id, tenant, tools } = caller
      const discovery = installation.manager.getDiscovery()
      // As for models: without tools that are deprecated or broken.
      const offer = discovery.offers.to({ tenant, caller: id, flags: installation.tenants.flags(tenant), tools })
      const found = await discovery.search(q, offer.tools, { tenant, ...(limit !== undefined && { most: limit }) })
      return { tools: found.map(({ name, description, parameters }) => ({ name, description, parameters })) }
    },
  )
}

/** The tools that the caller may use. */
export function usableTools(
  { manager, tenants }: Installation,
  { id, tenant, tools }: Pick<Caller, 'tenant' | 'tools'> & { readonly id?: string },
): ToolDefinition[] {
  const rights = { tenant, caller: id, flags: tenants.flags(tenant), tools }
  const registry = manager.getRegistry()
  return registry
    .definitions(rights)
    .filter((tool) => missingPermission(tool, rights) === undefined)
    .map((tool) => registry.shownTo(tool, rights))
}

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
      kind: { enum: ['request', 'response', 'error', 'notification'] },
      method: TEXT,
      id: TEXT,
      ms: { type: 'number', description: 'How long the response took.' },
      content: { description: 'The parameters, the result or the error, shortened.' },
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
      const servers = installation.manager.getMcpServers()
      found(
        servers.names.find((one) => one === name),
        `MCP server '${name}'`,
        'GET /api/mcp/servers lists them',
      )
      const connection = servers.connection(name)
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
