import { LOCAL_CALLER } from '../app/callers/callers.ts'
import type { Installation } from '../app/installation.ts'
import { usableTools } from '../app/tools/usable-tools.ts'
import { CONFIG_SCHEMA, type Config } from '../config/config.ts'
import type { ToolDefinition } from '../core/tool.ts'
import { type AnswerOf, COUNT, list, object, operation, TEXT, TIME } from './operation.ts'

const NUMBER = { type: 'number' }
const RATE = { calls: COUNT, per_ms: NUMBER, remaining: COUNT }
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
      retry_in_ms: NUMBER,
      since: { ...TIME, description: 'When the circuit breaker opened, or a trial call began.' },
    },
    'The circuit breakers of tools that were called since the server started.',
  ),
  budgets: list(
    { path: TEXT, model: TEXT, wall_time_ms: NUMBER, tokens: NUMBER, cost: NUMBER },
    'The budget of one run, for each response rule that has one.',
  ),
  configured: list(
    { path: TEXT, description: TEXT, value: { type: ['number', 'null'] } },
    'The limits in the configuration, each with its path; null if it is not set.',
  ),
}

function toolLimits({ manager }: Installation, tools: readonly ToolDefinition[], tenant: string, all: boolean) {
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

function circuits({ manager }: Installation, tools: readonly ToolDefinition[], tenant: string | undefined) {
  const seen = new Set(tools.map(({ name }) => name))
  return [...manager.getExecutor().circuits(tenant)]
    .filter(([tool]) => seen.has(tool))
    .map(([tool, { since, ...state }]) => ({
      tool,
      ...state,
      since: since === undefined ? undefined : new Date(since).toISOString(),
    }))
}

const budgets = ({ responses = [] }: Config) =>
  responses.flatMap(({ budget, llm, model }, index) =>
    budget === undefined ? [] : [{ path: `responses[${index}].budget`, model: `${llm}:${model}`, ...budget }],
  )

const { limits: configurable, tools } = CONFIG_SCHEMA.properties
const LIMITS = [
  ...Object.entries(configurable.properties).map(([key, { description }]) => ({ section: 'limits', key, description })),
  ...(['default_timeout_ms', 'max_iterations', 'max_parallel_calls'] as const).map((key) => ({
    section: 'tools',
    key,
    description: tools.properties[key].description,
  })),
]

const configured = (config: Config) =>
  LIMITS.map(({ section, key, description }) => {
    const value = (config[section as 'limits'] as Readonly<Record<string, unknown>> | undefined)?.[key]
    return { path: `${section}.${key}`, description, value: typeof value === 'number' ? value : null }
  })

const operations = {
  get: operation({
    ...{ id: 'limits.get', method: 'GET', path: '/api/limits', scope: 'observe', tag: 'limits' },
    summary: 'Returns the limits and circuit breakers of your tenant, and their current state',
    description:
      "With the scope 'installation': the callers of all tenants, and of each tool the circuit breaker of the tenant that fails most.",
    answer: object(VIEW, 'The state on this server'),
    needs: 'installation',
    run(host, _input, { caller = LOCAL_CALLER }) {
      const all = caller.scopes.has('installation')
      const tools = all ? host.manager.getRegistry().definitions() : usableTools(host, caller)
      return {
        callers: host.callerLimits(all ? undefined : caller.tenant),
        tools: toolLimits(host, tools, caller.tenant, all),
        circuits: circuits(host, tools, all ? undefined : caller.tenant),
        budgets: budgets(host.config),
        configured: configured(host.config),
      }
    },
  }),
}

/** Limits, budgets and circuit breakers. Reading them uses up nothing. */
export const limits = { operations }

export type LimitsView = AnswerOf<typeof operations.get>
