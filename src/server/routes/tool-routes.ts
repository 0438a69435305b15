import type { FastifyInstance } from 'fastify'
import type { Installation } from '../../app/installation.ts'
import { usableTools } from '../../app/tools/usable-tools.ts'
import { DEFAULT_FOUND, MAX_FOUND } from '../../chat/discovery.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { packageOf, pinnedName, versionOf } from '../../core/execution/tool-view.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { found } from '../http/problem.ts'
import { COUNT, exactly, list, object, pathParameter, route, TEXT, TIME } from '../http/route.ts'
import type { PageTool, WholePageTool } from '../http/views.ts'

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
