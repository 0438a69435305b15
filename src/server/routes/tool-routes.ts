import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../config/callers/caller.ts'
import type { Installation } from '../../config/installation.ts'
import { missingPermission } from '../../core/permit.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { HttpProblem } from '../http/problem.ts'
import type { PageTool, WholePageTool } from '../http/views.ts'

const TOOL = {
  name: { type: 'string', examples: ['get_weather'] },
  description: { type: 'string' },
  kind: { type: 'string', examples: ['http'] },
  effect: { enum: ['read', 'idempotent', 'write'] },
  origin: { type: 'string', description: 'configuration, or the MCP server that brought it.' },
  permissions: { type: 'array', items: { type: 'string' } },
  broken: { type: 'string', description: 'Why it cannot be called; absent where it can.' },
}

/** The tools of the caller, for people: how each is run and what it does to the world, but not with what. */
export function pageToolsRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.get(
    '/api/page/tools',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'The tools as the page lists them, without their schemas',
        tags: ['tools'],
        response: {
          200: {
            description: 'The tools',
            type: 'object',
            properties: { tools: { type: 'array', items: { type: 'object', properties: TOOL } } },
          },
        },
      },
    },
    ({ caller }) => ({ tools: usableTools(installation, caller).map((tool) => shown(installation, tool)) }),
  )

  app.get<{ Params: { name: string } }>(
    '/api/page/tools/:name',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'One tool, with the schema of its parameters',
        tags: ['tools'],
        params: { type: 'object', properties: { name: { type: 'string', maxLength: 200 } } },
        response: {
          200: {
            description: 'The tool',
            type: 'object',
            properties: { ...TOOL, parameters: { type: 'object', additionalProperties: true } },
          },
        },
      },
    },
    ({ caller, params: { name } }): WholePageTool => {
      const tool = usableTools(installation, caller).find((one) => one.name === name)
      if (tool === undefined) throw new HttpProblem(404, `Tool '${name}' not found`, 'GET /api/page/tools lists them')
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
    ...(broken !== undefined && { broken }),
  }
}

const PARAMETERS = { type: 'object', additionalProperties: true, description: 'The JSON Schema of its parameters.' }
const NAME = { type: 'string', examples: ['get_weather'] }
const DESCRIPTION = { type: 'string', examples: ['The weather of a city'] }

const HEALTH = {
  type: 'object',
  description: 'How it stands with a tool that was called since the start.',
  properties: {
    circuit: {
      type: 'object',
      description: 'Whether the service behind it is asked at all.',
      properties: {
        state: { enum: ['closed', 'open', 'half_open'] },
        failures: { type: 'integer', description: 'In a row.' },
        retry_in_ms: { type: 'number' },
      },
    },
    rate_limit: {
      type: 'object',
      properties: {
        calls: { type: 'integer' },
        per_ms: { type: 'number' },
        remaining: { type: 'integer', description: 'What may be called now, as far as this server knows.' },
      },
    },
  },
}

const list = (properties: object, required: string[]) => ({
  200: {
    description: 'The tools',
    type: 'object',
    required: ['tools'],
    properties: { tools: { type: 'array', items: { type: 'object', properties, required } } },
  },
})

/** The lists of tools, each with what the caller may use and no more. */
export function toolRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.get(
    '/schema/tools',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'The tools, as models are offered them',
        tags: ['tools'],
        response: list(
          {
            name: NAME,
            description: DESCRIPTION,
            type: { type: 'string', examples: ['function'] },
            parameters: PARAMETERS,
          },
          ['name', 'description', 'type', 'parameters'],
        ),
      },
    },
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
    {
      config: { scope: 'read' },
      schema: {
        summary: 'The tools, and of what kind each is',
        tags: ['tools'],
        response: list(
          {
            name: NAME,
            description: DESCRIPTION,
            parameters: PARAMETERS,
            implementation: { type: 'object', properties: { type: { type: 'string', examples: ['http'] } } },
            broken: { type: 'string', description: 'Why it cannot be called; absent where it can.' },
            health: HEALTH,
          },
          ['name', 'description', 'parameters', 'implementation'],
        ),
      },
    },
    ({ caller }) => {
      const registry = installation.manager.getRegistry()
      const executor = installation.manager.getExecutor()
      return {
        tools: usableTools(installation, caller).map(({ name, description, parameters, implementation }) => {
          const broken = registry.brokenReason(name)
          const health = executor.healthOf(name, caller.tenant)
          // Everything else about how it is run is nobody's business: handlers, answers, addresses, secrets.
          const type = implementation?.type
          const more = {
            ...(broken !== undefined && { broken }),
            ...(Object.keys(health).length > 0 && { health }),
          }
          return { name, description, parameters, implementation: { type }, ...more }
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
