import type { FastifyInstance } from 'fastify'
import type { Installation } from '../../config/installation.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { HttpProblem } from '../http-problem.ts'
import { usableTools } from '../routes/tool-routes.ts'
import type { Service } from '../service.ts'
import type { PageTool, WholePageTool } from './page-tool.ts'

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
export function pageToolsRoutes(app: FastifyInstance, { installation }: Service): void {
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
