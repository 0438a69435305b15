import { describe, expect, test } from 'vitest'
import { MINUTE, simulatedServers } from './fixtures/simulated-servers.ts'
import type { AlertNews } from './objectives.ts'

const SUCCESS = { tool: 'add', success: 0.995 }
const ID = 'add success 0.995 30d'
const HOUR = 60 * MINUTE

describe('alerts', () => {
  test('a fast burn opens an alert within 5 minutes', async () => {
    const { pass, changes } = await simulatedServers([SUCCESS])
    await pass(71, 1_200, 0, {}, HOUR)
    await pass(12, 100, 0, {}, 5 * MINUTE)
    await pass(5, 20, 1)
    expect(changes()).toEqual([`open fast ${ID}`])
  })

  test('a slow burn opens an alert within hours, and no fast one', async () => {
    const { pass, changes } = await simulatedServers([SUCCESS])
    await pass(72, 120, 0, {}, HOUR)
    await pass(30, 20, 0.05, {}, 10 * MINUTE)
    expect(changes()).toEqual([])
    await pass(18, 20, 0.05, {}, 10 * MINUTE)
    expect(changes()).toEqual([`open slow ${ID}`])
  })

  test('a rate around the threshold opens one alert, which is resolved once when calls succeed', async () => {
    const { pass, changes, recorded } = await simulatedServers([SUCCESS])
    await pass(60, 100, 0.08)
    for (let round = 0; round < 10; round++) {
      await pass(5, 100, 0.06)
      await pass(5, 100, 0.09)
    }
    expect(changes()).toEqual([`open fast ${ID}`])
    await pass(25, 100, 0)
    expect(changes().filter((change) => change.includes('fast'))).toEqual([`open fast ${ID}`, `resolved fast ${ID}`])
    expect(recorded.slice(0, 2)).toEqual(['alert.opened', 'alert.resolved'])
  })

  test('one outage of many tools is one notification', async () => {
    const { pass, told } = await simulatedServers([SUCCESS, { tool: 'a*', success: 0.99 }, { success: 0.9, p95_ms: 1 }])
    await pass(5, 20, 1)
    expect(told).toHaveLength(1)
    expect(told[0]?.alerts.map(({ objective }) => objective).sort()).toEqual([
      // All calls fail, but that is less than 14.4 times the tenth of calls that may: only the slow alert opens.
      '* p95_ms 1 30d',
      '* success 0.9 30d',
      'a* success 0.99 30d',
      ID,
    ])
    expect(told[0]?.alerts[0]?.message).toContain('200.0 times as often as its error budget allows')
  })

  test('mistakes of callers, refusals and cancelled calls spend no error budget', async () => {
    const { pass, changes, servers } = await simulatedServers([SUCCESS])
    for (const code of ['INVALID_PARAMETERS', 'PERMISSION_DENIED', 'RATE_LIMITED', 'CANCELLED'] as const) {
      await pass(5, 20, 0.5, { code })
    }
    expect(changes()).toEqual([])
    const [report] = (await servers[0]?.objectives.report()) ?? []
    expect(report).toMatchObject({ calls: 200, bad: 0, error_budget_left: 1 })
  })

  test('slow calls spend the error budget of a latency objective', async () => {
    const { pass, changes, servers } = await simulatedServers([{ p95_ms: 100 }])
    await pass(5, 20, 0.05, { code: null, durationMs: 200 })
    expect(changes()).toEqual(['open slow * p95_ms 100 30d'])
    await pass(60, 20, 1, { code: null, durationMs: 200 })
    expect(changes()).toEqual(['open slow * p95_ms 100 30d', 'open fast * p95_ms 100 30d'])
    const [report] = (await servers[0]?.objectives.report()) ?? []
    expect(report).toMatchObject({ calls: 1_300, bad: 1_205 })
  })

  test('a few failed calls open no alert', async () => {
    const { pass, changes } = await simulatedServers([{ ...SUCCESS, min_calls: 50 }])
    await pass(9, 5, 1)
    expect(changes()).toEqual([])
    await pass(1, 5, 1)
    expect(changes()).toEqual([`open fast ${ID}`])
  })
})

describe('servers', () => {
  test('two servers send one alert, and one that it is resolved', async () => {
    const { pass, changes, servers, start } = await simulatedServers([SUCCESS])
    servers.push(await start())
    await pass(10, 20, 1)
    expect(changes()).toEqual([`open fast ${ID}`])
    await pass(80, 20, 0)
    expect(changes().filter((change) => change.includes('fast'))).toEqual([`open fast ${ID}`, `resolved fast ${ID}`])
  })

  test('a restart keeps open alerts', async () => {
    const { pass, changes, servers, start } = await simulatedServers([SUCCESS])
    await pass(10, 20, 1)
    await servers.pop()?.close()
    servers.push(await start())
    await pass(10, 20, 1)
    expect(changes()).toEqual([`open fast ${ID}`])
  })

  test('an alert that could not be queued is sent with the next evaluation, with the same id', async () => {
    const { pass, servers, start } = await simulatedServers([SUCCESS])
    const told: AlertNews[] = []
    const failing = await start(async (news) => {
      told.push(news)
      if (told.length === 1) throw new Error('no store')
    })
    servers.splice(0, 1, failing)
    await expect(pass(5, 20, 1)).rejects.toThrow('no store')
    await pass(3, 20, 1)
    expect(told.map(({ id }) => id)).toEqual([told[0]?.id, told[0]?.id])
  })

  test('an alert of a server that died is recorded and sent by another one', async () => {
    const { pass, servers, start, recorded, changes } = await simulatedServers([SUCCESS])
    const dying = await start(undefined, async () => {
      recorded.pop()
      throw new Error('The server died before the row was stored')
    })
    servers.splice(0, 1, dying)
    await expect(pass(5, 20, 1)).rejects.toThrow('died')
    expect([recorded, changes()]).toEqual([[], []])
    servers.splice(0, 1, await start())
    await pass(3, 20, 1)
    expect([recorded, changes()]).toEqual([['alert.opened'], [`open fast ${ID}`]])
  })

  test('servers with different objectives that take turns send one alert', async () => {
    const { pass, changes, servers, start } = await simulatedServers([SUCCESS])
    servers.push(await start())
    servers[1]?.objectives.configure({})
    for (let minute = 0; minute < 40; minute++) {
      await pass(1, 20, 1)
      servers.reverse()
    }
    expect(changes()).toEqual([`open fast ${ID}`])
  })

  test('an alert of a removed objective is resolved', async () => {
    const { pass, changes, servers, told } = await simulatedServers([SUCCESS])
    await pass(10, 20, 1)
    servers[0]?.objectives.configure({})
    await pass(15, 20, 1)
    expect(changes()).toEqual([`open fast ${ID}`])
    await pass(1, 20, 1)
    expect(changes()).toEqual([`open fast ${ID}`, `resolved fast ${ID}`])
    expect(told.at(-1)?.alerts[0]?.message).toBe(`Alert resolved: the objective '${ID}' is no longer configured`)
  })
})

test('the error budget covers the window, and its days are listed', async () => {
  const { pass, servers } = await simulatedServers([{ tool: 'add', success: 0.9, window: '3d' }])
  await pass(6, 100, 0.05, {}, 24 * HOUR)
  const [report] = (await servers[0]?.objectives.report()) ?? []
  // Today and three days before it.
  expect(report).toMatchObject({ calls: 400, bad: 20 })
  expect(report?.error_budget_left).toBeCloseTo(0.5)
  expect(report?.days.map(({ calls, bad }) => [calls, bad])).toEqual(Array(4).fill([100, 5]))
})
