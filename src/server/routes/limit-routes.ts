import type { FastifyInstance } from 'fastify'
import type { Installation } from '../../app/installation.ts'
import type { Config } from '../../config/config.ts'
import { CONFIG_SCHEMA } from '../../config/config-schema.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { COUNT, list, object, route, TEXT, TIME } from '../http/route.ts'
import type { ConfiguredLimit, LimitsView, ShownBudget, ShownCircuit, ShownToolLimit } from '../http/views.ts'
import { usableTools } from './tool-routes.ts'

const MS = { type: 'number' }
const RATE = { calls: COUNT, per_ms: MS, remaining: COUNT }
const VIEW = {
  callers: list(
    { id: TEXT, name: TEXT, tenant: TEXT, ...RATE, retry_in_ms: COUNT, set_by: { enum: ['key', 'configuration'] } },
    'The remaining calls of each caller with a rate limit.',
  ),
  tools: list(
    { tool: TEXT, rate_limit: object(RATE), concurrency: object({ most: COUNT, running: COUNT }) },
    'The remaining calls of your tenant for each tool with a limit.',
  ),
  circuits: list(
    {
      tool: TEXT,
      state: { enum: ['closed', 'open', 'half_open'] },
      failures: { ...COUNT, description: 'Consecutive failures.' },
      retry_in_ms: MS,
      since: { ...TIME, description: 'When the circuit breaker opened, or a trial call began.' },
    },
    'The circuit breakers of tools that were called since the server started.',
  ),
  budgets: list(
    { path: TEXT, model: TEXT, wall_time_ms: MS, tokens: MS, cost: MS },
    'The budget of one run, for each response rule that has one.',
  ),
  configured: list(
    { path: TEXT, description: TEXT, value: { type: ['number', 'null'] } },
    'The limits in the configuration, each with its path; null if it is not set.',
  ),
}

/** Limits, budgets and circuit breakers. Reading them uses up nothing. */
export function limitRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.get(
    '/api/limits',
    route('observe', 'limits', 'Returns the limits and circuit breakers of your tenant, and their current state', {
      description: "With the scope 'installation': the callers of all tenants and the circuit breakers of all tools.",
      response: { 200: object(VIEW, 'The state on this server') },
    }),
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
      // Prepares a tool that was not called yet.
      executor.effectOf(name)
      const { rate_limit, concurrency } = executor.healthOf(name, tenant)
      // Concurrency counts the calls of all tenants.
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
      since: since === undefined ? undefined : new Date(since).toISOString(),
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
