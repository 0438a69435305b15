import type { FastifyInstance } from 'fastify'
import { currentTool, schemaHash } from '../../validation/tool-use/tool-use.ts'
import { effectiveGate } from '../../validation/tool-use/tool-use-gate.ts'
import { HttpProblem } from '../http-problem.ts'
import type { Service } from '../service.ts'
import { tenantAsked } from '../tenant-asked.ts'
import { TOOL_USE_QUERY, TOOL_USE_SCHEMA } from './validation-schemas.ts'

interface ToolUseQuery {
  readonly tenant?: string
  readonly model?: string
  readonly tool?: string
}

/** How well models use tools. */
export function validationRoutes(app: FastifyInstance, { installation }: Service): void {
  app.get<{ Querystring: ToolUseQuery }>(
    '/api/validations/tools',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'How well each model uses each tool; with a model and a tool, each failure too',
        tags: ['models'],
        querystring: TOOL_USE_QUERY,
        response: { 200: TOOL_USE_SCHEMA },
      },
    },
    async (request) => {
      const { model, tool } = request.query
      const tenant = tenantAsked(request, request.query.tenant)
      if (tenant === undefined) throw new HttpProblem(400, 'Tools are looked at for one tenant at a time', 'name it')
      const find = currentTool(installation.manager.getRegistry())
      const all = await installation.toolUse.list(tenant, (name) => {
        const current = find(name)
        return current && schemaHash(current)
      })
      const found = all.filter(
        (use) => (model === undefined || use.model_id === model) && (tool === undefined || use.tool === tool),
      )
      const whole = model !== undefined && tool !== undefined
      return {
        gate: effectiveGate(installation.config.validation),
        tool_use: found.map(({ failures, ...use }) => (whole ? { ...use, failures } : use)),
      }
    },
  )
}
