import { describe, expect, test } from 'vitest'
import { withServer } from './fixtures/server.ts'
import { mock } from './fixtures/tool-manager.ts'

describe('Limits', () => {
  test('[6.5-1] limits calls per caller and per tool', async () => {
    const rare = { ...mock('rare'), rate_limit: { calls: 1, per_ms: 60_000 } }
    const { execute, key } = await withServer([mock('get_weather'), rare], { limits: { calls_per_minute: 3 } })
    const answers = []
    for (const name of ['rare', 'rare', 'get_weather', 'get_weather']) answers.push(await execute(name))
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200, 429])
    const [first, , , last] = answers as [(typeof answers)[0], unknown, unknown, (typeof answers)[0]]
    expect([first.headers.get('ratelimit-limit'), first.headers.get('ratelimit-remaining')]).toEqual(['3', '2'])
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(last.body.error).toMatch(/3 calls a minute.*try again in/)
    expect((await execute('get_weather', {}, { key: await key('other') })).status).toBe(200)
  })

  test('[6.5-2] limits the sizes of bodies, arrays and results', async () => {
    const big = { ...mock('big', 'x'.repeat(2_000)), max_result_bytes: 1_000 }
    const { execute } = await withServer([mock('get_weather'), big], { limits: { body_bytes: 200_000 } })
    const answers = [
      await execute('get_weather', { text: 'x'.repeat(200_001) }),
      await execute('get_weather', { list: new Array(10_001).fill(1) }),
      await execute('big'),
      await execute('get_weather', { list: new Array(10_000).fill(1) }),
    ]
    expect(answers.map(({ status, body }) => [status, body.error_code])).toEqual([
      [400, 'INVALID_PARAMETERS'],
      [400, 'INVALID_PARAMETERS'],
      [500, 'RESULT_TOO_LARGE'],
      [200, undefined],
    ])
  })
})
