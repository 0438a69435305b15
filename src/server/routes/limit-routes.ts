import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import { CONFIG_SCHEMA } from '../../config/config-schema.ts'
import type { Installation } from '../../config/installation.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import type { ConfiguredLimit, LimitsView, ShownBudget, ShownCircuit, ShownToolLimit } from '../http/views.ts'
import { usableTools } from './tool-routes.ts'

const list = (properties: object, description: string) => ({
  type: 'array',
  description,
  items: { type: 'object', properties },
})
const RATE = { calls: { type: 'integer' }, per_ms: { type: 'number' }, remaining: { type: 'integer' } }
const TEXT = { type: 'string' }
const VIEW = {
  callers: list(
    {
      ...{ id: TEXT, name: TEXT, tenant: TEXT },
      ...RATE,
      retry_in_ms: { type: 'integer' },
      set_by: { enum: ['key', 'configuration'] },
    },
    'How many calls a minute each caller has left, where that is limited.',
  ),
  tools: list(
    {
      tool: TEXT,
      rate_limit: { type: 'object', properties: RATE },
      concurrency: { type: 'object', properties: { most: { type: 'integer' }, running: { type: 'integer' } } },
    },
    'What your tenant has left of tools that limit their calls.',
  ),
  circuits: list(
    {
      tool: TEXT,
      state: { enum: ['closed', 'open', 'half_open'] },
      failures: { type: 'integer', description: 'In a row.' },
      retry_in_ms: { type: 'number' },
      since: { type: 'string', format: 'date-time', description: 'When it was opened, or a trial began.' },
    },
    'The breakers of tools that were called since the start.',
  ),
  budgets: list(
    {
      ...{ path: TEXT, model: TEXT },
      ...{ wall_time_ms: { type: 'number' }, tokens: { type: 'number' }, cost: { type: 'number' } },
    },
    'What one run may use up, by the response rules.',
  ),
  configured: list(
    { path: TEXT, description: TEXT, value: { type: ['number', 'null'] } },
    'What the configuration says, each with its path; null where it says nothing.',
  ),
}

/** What holds calls back: limits, budgets and breakers. Looking at them takes nothing of them. */
export function limitRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.get(
    '/api/limits',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'The limits and breakers of your tenant, and how they stand now',
        description: "With the scope 'installation', callers of all tenants and breakers of all tools.",
        tags: ['limits'],
        response: { 200: { description: 'As far as this server knows', type: 'object', properties: VIEW } },
      },
    },
    ({ caller }): LimitsView => {
      const all = caller.scopes.has('installation')
      const { manager, config } = installation
      const tools = all ? manager.getRegistry().definitions() : usableTools(installation, caller)
      return {
        callers: installation.callerLimits(all ? undefined : caller.tenant),
        tools: toolLimits(installation, tools, caller.tenant, all),
        circuits: circuits(installation, tools),
        budgets: budgets(config),
        configured: configured(config),
      }
    },
  )
}

function toolLimits(
  { manager }: Installation,
  tools: readonly ToolDefinition[],
  tenant: string,
  all: boolean,
): ShownToolLimit[] {
  const executor = manager.getExecutor()
  return tools
    .filter(({ rate_limit, max_concurrency }) => rate_limit !== undefined || max_concurrency !== undefined)
    .map(({ name }) => {
      // Makes it ready, where nobody has called it yet.
      executor.effectOf(name)
      const { rate_limit, concurrency } = executor.healthOf(name, tenant)
      // How much others run is nothing for one tenant to know.
      return { tool: name, ...(rate_limit && { rate_limit }), ...(all && concurrency && { concurrency }) }
    })
    .filter((limit) => Object.keys(limit).length > 1)
}

function circuits({ manager }: Installation, tools: readonly ToolDefinition[]): ShownCircuit[] {
  const seen = new Set(tools.map(({ name }) => name))
  return [...manager.getExecutor().circuits()]
    .filter(([tool]) => seen.has(tool))
    .map(([tool, { since, ...state }]) => ({
      tool,
      ...state,
      ...(since !== undefined && { since: new Date(since).toISOString() }),
    }))
}

const budgets = ({ responses = [] }: Config): ShownBudget[] =>
  responses.flatMap(({ budget, llm, model }, index) =>
    budget === undefined ? [] : [{ path: `responses[${index}].budget`, model: `${llm}:${model}`, ...budget }],
  )

const { limits, tools } = CONFIG_SCHEMA.properties
const LIMITS = [
  ...Object.entries(limits.properties).map(([key, { description }]) => ({ section: 'limits', key, description })),
  ...(['default_timeout_ms', 'max_iterations', 'max_parallel_calls'] as const).map((key) => ({
    section: 'tools',
    key,
    description: tools.properties[key].description,
  })),
]

const configured = (config: Config): ConfiguredLimit[] =>
  LIMITS.map(({ section, key, description }) => {
    const value = (config[section as 'limits'] as Readonly<Record<string, unknown>> | undefined)?.[key]
    return { path: `${section}.${key}`, description, value: typeof value === 'number' ? value : null }
  })
