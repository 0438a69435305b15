import { describe, expect, test } from 'vitest'
import { openaiModel, tool, withServer } from './fixtures/server.ts'
import { mock } from './fixtures/tool-manager.ts'

describe('Metrics', () => {
  test('[6.4-1] counts calls, rates, times, errors and parameter sets per tool', async () => {
    const flaky = ({ fail }: Record<string, unknown>) => {
      if (fail) throw new Error('It broke')
      return 'fine'
    }
    const { ask, execute } = await withServer([mock('get_weather'), tool('flaky')], {}, { handlers: { flaky } })
    for (const fail of [true, false, false, false]) await execute('flaky', { fail })
    await execute('get_weather')
    await execute('made_up_by_the_caller')
    const { body } = await ask('/metrics/tools/execution?window=1h')
    expect(body).toMatchObject({ total: 6, errors: { EXECUTION_ERROR: 1, TOOL_NOT_FOUND: 1 } })
    expect(body.tools.flaky).toMatchObject({ total: 4, success_rate: 0.75, errors: { EXECUTION_ERROR: 1 } })
    expect(body.tools.flaky.p99_ms).toBeGreaterThan(0)
    expect(Object.keys(body.tools)).not.toContain('made_up_by_the_caller')
    const { body: sets } = await ask('/metrics/tools/flaky/parameters?window=24h')
    expect(JSON.stringify(sets)).not.toContain('fail')
    expect(sets.parameter_sets.map(({ calls }: { calls: number }) => calls)).toEqual([3, 1])
  })

  test('[6.4-2] measures which models call tools, how accurately and how deep', async () => {
    const model = await openaiModel(
      { call: 'get_weather', args: { city: 'Paris' } },
      { call: 'get_weather', args: { city: 'Rome' } },
      'Both are sunny.',
      'It is 4.',
    )
    const { ask, post } = await withServer([mock('get_weather')], {
      ...model.config,
      models: ['gpt-4o', 'plain'].map((name) => ({ id: `openai:${name}`, name, capabilities: ['function-calling'] })),
      tools: { enabled: true, registry: [mock('get_weather')], max_iterations: 5 },
    })
    await post('/api/tools/test', { query: 'How are Paris and Rome?', model: 'openai:gpt-4o' })
    await post('/api/tools/test', { query: "What's 2+2?", model: 'openai:plain' })
    await post('/api/tools/validate', { model: 'openai:gpt-4o', success: true, details: { expected: 'get_weather' } })
    await post('/api/tools/validate', { model: 'openai:gpt-4o', success: false, error: 'It called another tool' })
    const { models } = (await ask('/metrics/models?window=24h')).body
    expect(models['openai:gpt-4o']).toMatchObject({
      runs: 1,
      runs_with_tools: 1,
      tool_calls: 2,
      avg_iterations: 2,
      max_iterations: 2,
      stop_reasons: { stop: 1 },
      selection_accuracy: 0.5,
      tools: { get_weather: { calls: 2, failed: 0 } },
    })
    expect(models['openai:gpt-4o'].with_tools.avg_ms).toBeGreaterThan(0)
    expect(models['openai:plain']).toMatchObject({ runs: 1, runs_with_tools: 0, selection_accuracy: null })
    expect(models['openai:plain'].without_tools.avg_ms).toBeGreaterThan(0)
  })
})
