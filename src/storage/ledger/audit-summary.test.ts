import { expect, test } from 'vitest'
import type { EventEntry } from '../../core/storage/ledger.ts'
import { event } from '../fixtures/call-entry.ts'
import { call, openLedger } from './fixtures/open-ledger.ts'

const DAY = 86_400_000
const EVER = { tenant: undefined, from: 0, to: Number.MAX_SAFE_INTEGER }

test('lists are bounded, and say how many entries they lack', async () => {
  const { ledger, clock } = openLedger()
  const at = clock.wall()
  const calls = Array.from({ length: 10_005 }, (_, index) => call({ at, tool: `tool-${index}` }))
  const events = Array.from({ length: 5_003 }, (): EventEntry => event({ at, event: 'key.refused', failed: true }))
  await ledger.append(calls, [], [...events, event({ at })])
  const { usage, access, changes, totals, left_out } = await ledger.summary(EVER)
  expect([usage.length, access.length, changes.length, totals.calls]).toEqual([10_000, 5_000, 1, 10_005])
  expect(left_out).toEqual({ usage: 5, denied: 0, approvals: 0, changes: 0, access: 3, alerts: 0 })
})

test('names that callers make up are one entry', async () => {
  const { ledger, clock } = openLedger()
  const calls = ['one', 'two'].map((tool) => call({ at: clock.wall(), tool, code: 'TOOL_NOT_FOUND' }))
  await ledger.append(calls, [])
  expect((await ledger.summary(EVER)).usage).toMatchObject([{ tool: '(unknown tools)', calls: 2, failed: 2 }])
})

test('says up to when rows were removed, and which row is the oldest', async () => {
  const { ledger, clock } = openLedger()
  expect(await ledger.summary(EVER)).toMatchObject({ first_row: null, removed_until: null })
  const first = clock.wall()
  await ledger.append([call({ at: first })], [])
  clock.advance(8 * DAY)
  await ledger.append([call({ at: clock.wall() })], [])
  await ledger.expire(clock.wall())
  const time = (at: number) => new Date(at).toISOString()
  expect(await ledger.summary(EVER)).toMatchObject({ first_row: time(clock.wall()), removed_until: time(first) })
})

test('a changed row is a fault of the same pass', async () => {
  const { ledger, stored, clock } = openLedger()
  await ledger.append([call({ at: clock.wall() }), call({ at: clock.wall() })], [])
  stored.rows[0] = { ...(stored.rows[0] as (typeof stored.rows)[0]), tool: 'harmless' }
  const { integrity, usage } = await ledger.summary(EVER)
  expect(integrity.faults).toMatchObject([{ at: 1, problem: expect.stringContaining('does not match its hash') }])
  expect(usage.map(({ tool }) => tool)).toEqual(['harmless', 'weather'])
})

test('the costs of a day add up exactly, and unknown costs are not 0', async () => {
  const { ledger, clock } = openLedger()
  const at = clock.wall()
  await ledger.append([...[100_000, 200_000, null].map((cost) => call({ at, cost })), call({ at, tool: 'free' })], [])
  const { days, usage } = await ledger.summary(EVER)
  expect(days).toMatchObject([{ calls: 4, cost: 0.3 }])
  expect(usage.map(({ tool, cost }) => [tool, cost])).toEqual([
    ['free', null],
    ['weather', 0.3],
  ])
})

test('a tenant with many names and events leaves those of others their share', async () => {
  const { ledger, clock } = openLedger()
  const at = clock.wall()
  const many = Array.from({ length: 10_005 }, (_, index) => call({ at, tenant: 'loud', tool: `tool-${index}` }))
  const few = Array.from({ length: 3 }, (_, index) => call({ at, tenant: 'quiet', tool: `tool-${index}`, cost: null }))
  const events = Array.from({ length: 5_003 }, (): EventEntry => event({ at, tenant: 'loud', event: 'key.refused' }))
  await ledger.append([...many, ...few, ...few], [], [...events, event({ at, tenant: 'quiet', event: 'key.refused' })])
  const { usage, access, totals, left_out } = await ledger.summary(EVER)
  const quiet = usage.filter(({ tenant }) => tenant === 'quiet')
  expect(quiet.map(({ calls, unknown_costs }) => [calls, unknown_costs])).toEqual([
    [2, 2],
    [2, 2],
    [2, 2],
  ])
  expect([usage.length, access.length]).toEqual([10_000, 5_000])
  expect(access.filter(({ tenant }) => tenant === 'quiet')).toHaveLength(1)
  expect([left_out.usage, left_out.access]).toEqual([8, 4])
  expect(usage.reduce((sum, { calls }) => sum + calls, left_out.usage)).toBe(totals.calls)
})
