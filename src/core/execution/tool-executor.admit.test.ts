import { describe, expect, test } from 'vitest'
import { toolyard } from '../fixtures/code-yard.ts'

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const

describe('admit', () => {
  test('runs nothing, records nothing and returns the timeout', async () => {
    let runs = 0
    const { executor, add, records } = toolyard()
    add('weather', () => ++runs, { parameters: CITY, timeout_ms: 90_000 })
    const params = { city: 'Paris' }
    expect(await executor.admit('weather', params, { source: 'job' })).toEqual({ timeoutMs: 90_000 })
    expect(await executor.admit('weather', params, { source: 'job', timeoutMs: 600_000 })).toEqual({
      timeoutMs: 600_000,
    })
    executor.flush()
    expect([runs, records.length]).toEqual([0, 0])
  })

  test('refuses invalid calls with an envelope and a record', async () => {
    const { executor, add, records } = toolyard()
    add('weather', () => 1, { parameters: CITY })
    add('secret', () => 1, { permissions: ['secrets'] })
    for (const [tool, params] of [
      ['wether', {}],
      ['weather', {}],
      ['weather', 7],
      ['secret', {}],
    ] as const) {
      const { execution_time_ms: _, ...refused } = await executor.execute(tool, params)
      expect(await executor.admit(tool, params, {})).toMatchObject({ refused })
    }
    executor.flush()
    expect(records.map(({ code }) => code).filter((_, index) => index % 2 === 1)).toEqual([
      'TOOL_NOT_FOUND',
      'INVALID_PARAMETERS',
      'INVALID_PARAMETERS',
      'PERMISSION_DENIED',
    ])
  })

  test('counts against the limits of the caller, not of the tool', async () => {
    const { executor, add } = toolyard()
    add('look', () => 1, { rate_limit: { calls: 1, per_ms: 60_000 } })
    const rates = [{ key: 'ada', calls: 2, perMs: 60_000, description: "Caller 'ada' may make 2 calls a minute" }]
    expect(await executor.admit('look', {}, { rates })).toHaveProperty('timeoutMs')
    expect(await executor.admit('look', {}, { rates })).toHaveProperty('timeoutMs')
    expect(await executor.admit('look', {}, { rates })).toMatchObject({
      refused: { error_code: 'RATE_LIMITED', error: expect.stringContaining("Caller 'ada' may make 2 calls") },
    })
    expect(await executor.execute('look', {})).toMatchObject({ success: true })
    expect(await executor.execute('look', {})).toMatchObject({ error_code: 'RATE_LIMITED' })
  })
})

test('effectOf returns undefined for unknown and broken tools', () => {
  const { executor, add } = toolyard()
  add('look', () => 1, { effect: 'read' })
  add('pay', () => 1)
  add('odd', () => 1, { effect: 'maybe' as 'read' })
  expect(['look', 'pay', 'nothing', 'odd'].map((name) => executor.effectOf(name))).toEqual([
    'read',
    'write',
    undefined,
    undefined,
  ])
})
