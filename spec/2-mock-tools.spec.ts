import { describe, expect, test } from 'vitest'
import { configured } from './fixtures/tool-manager.ts'

const weather = {
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  implementation: { type: 'mock', mock_response: { temperature: 22, condition: 'sunny' } },
}

describe('Mock tools', () => {
  test('[2.3-1] returns mock_response', async () => {
    const { execute } = await configured([weather])
    expect(await execute('get_weather', { city: 'Paris' })).toMatchObject({
      result: { temperature: 22, condition: 'sunny' },
    })
  })

  test('[2.3-2] logs parameters, and uses them only for its cases', async () => {
    const { execute, log } = await configured([weather])
    const [paris, rome] = [
      await execute('get_weather', { city: 'Paris' }),
      await execute('get_weather', { city: 'Rome' }),
    ]
    expect(paris).toMatchObject({ success: true })
    expect({ ...paris, execution_time_ms: 0 }).toEqual({ ...rome, execution_time_ms: 0 })
    expect(JSON.stringify(log.lines)).toContain('Rome')
    const cases = [{ when: { city: 'Oslo' }, mock_response: { temperature: -4 } }]
    const cold = await configured([{ ...weather, implementation: { ...weather.implementation, cases } }])
    expect(await cold.execute('get_weather', { city: 'Oslo' })).toMatchObject({ result: { temperature: -4 } })
    expect(await cold.execute('get_weather', { city: 'Rome' })).toMatchObject({ result: { temperature: 22 } })
  })

  test('[2.3-3] answers in under 10 ms', async () => {
    const { execute } = await configured([weather])
    const times: number[] = []
    // The first call compiles the schema; of the others the fastest shows what a mock costs on a busy machine.
    for (let call = 0; call < 20; call++) times.push((await execute('get_weather', { city: 'Oslo' })).execution_time_ms)
    expect(Math.min(...times)).toBeLessThan(10)
  })
})
