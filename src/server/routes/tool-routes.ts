import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../app/callers.ts'
import type { Installation } from '../../app/installation.ts'
import { missingPermission } from '../../core/execution/permit.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { found } from '../http/problem.ts'
import { COUNT, list, object, pathParameter, route, TEXT } from '../http/route.ts'
import type { PageTool, WholePageTool } from '../http/views.ts'

const NAME = { type: 'string', examples: ['get_weather'] }
const DESCRIPTION = { type: 'string', examples: ['The weather of a city'] }
const BROKEN = { type: 'string', description: 'Why the tool cannot be called; absent if it can.' }

const TOOL = {
  name: NAME,
  description: DESCRIPTION,
  kind: { type: 'string', examples: ['http'] },
  effect: { enum: ['read', 'idempotent', 'write'] },
  origin: { type: 'string', description: '`configuration`, or the name of the MCP server.' },
  permissions: { type: 'array', items: TEXT },
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
      response: { 200: object({ ...TOOL, parameters: PARAMETERS }, 'The tool') },
    }),
    ({ caller, params: { name } }): WholePageTool => {
      const usable = usableTools(installation, caller).find((one) => one.name === name)
      const tool = found(usable, `Tool '${name}'`, 'GET /api/page/tools lists them')
      return { ...shown(installation, tool), parameters: tool.parameters }
    },
  )
}

function shown(
  { manager }: Installation,
  { name, description, implementation, permissions }: ToolDefinition,
): PageTool {
  const broken = manager.getRegistry().brokenReason(name)
  const { type: kind = 'unknown', server } = implementation ?? {}
  return {
    name,
    description,
    kind,
    effect: manager.getExecutor().effectOf(name) ?? 'write',
    origin: kind === 'mcp' && typeof server === 'string' ? server : 'configuration',
    permissions: permissions ?? [],
    broken,
  }
}

const PARAMETERS = { type: 'object', additionalProperties: true, description: 'JSON Schema of the parameters.' }

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
      tools: usableTools(installation, caller).map(({ name, description, type = 'function', parameters }) => ({
        name,
        description,
        type,
        parameters,
      })),
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
        tools: usableTools(installation, caller).map(({ name, description, parameters, implementation }) => {
          const broken = registry.brokenReason(name)
          const state = executor.healthOf(name, caller.tenant)
          const health = Object.keys(state).length > 0 ? state : undefined
          // The rest of the implementation is private: handlers, mock responses, URLs, secrets.
          const type = implementation?.type
          return { name, description, parameters, implementation: { type }, broken, health }
        }),
      }
    },
  )
}

/** The tools that the caller's tenant may use. */
export function usableTools({ manager, tenants }: Installation, { tenant }: Pick<Caller, 'tenant'>): ToolDefinition[] {
  const flags = tenants.flags(tenant)
  return manager
    .getRegistry()
    .definitions()
    .filter((tool) => missingPermission(tool, flags) === undefined)
}
