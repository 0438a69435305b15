import type { Contender } from '../contender.ts'
import { DESCRIPTION, NAME, type WeatherHandler, type WeatherParams } from '../weather.ts'

const shared = { package: '@openai/agents', permission: 'no', record: 'no' } as const

async function prepare(params: WeatherParams, handler: WeatherHandler, timeout: { timeoutMs?: number }) {
  const { RunContext, setTracingDisabled, tool } = await import('@openai/agents')
  const { weatherZod } = await import('./weather-zod.ts')
  setTracingDisabled(true)
  // Strict mode wants every property required; optional ones are written as nullable.
  const parameters = weatherZod().extend({ units: weatherZod().shape.units.unwrap().nullable() })
  const weather = tool({ name: NAME, description: DESCRIPTION, parameters, execute: handler, ...timeout })
  const runContext = new RunContext()
  const input = JSON.stringify(params)
  return () => weather.invoke(runContext, input)
}

export const openaiAgents: Contender = {
  ...shared,
  id: 'openai-agents',
  name: 'OpenAI Agents',
  call: 'tool.invoke(context, json)',
  deadline: 'option',
  prepare: (params, handler) => prepare(params, handler, {}),
}

export const openaiAgentsTimeout: Contender = {
  ...shared,
  id: 'openai-agents-timeout',
  name: 'OpenAI Agents, 30 s timeout',
  call: 'tool.invoke(context, json)',
  deadline: 'always',
  prepare: (params, handler) => prepare(params, handler, { timeoutMs: 30_000 }),
}
