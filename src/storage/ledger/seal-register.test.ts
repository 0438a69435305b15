import { describe, expect, test } from 'vitest'
import { GENESIS, rowHash } from './chain-row.ts'
import { MemoryTables, Stored } from './fixtures/memory-tables.ts'
import { call, KEY, openLedger, settle } from './fixtures/open-ledger.ts'
import type { Seal } from './ledger-tables.ts'
import { numberOf, sealed, sealRecord } from './seal.ts'
import { OwnChain, verifyChains } from './verify-chain.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const faultsOf = async (stored: Stored) =>
  (await verifyChains(new MemoryTables('verify', stored), KEY, new Map())).faults.map(({ problem }) => problem)

/** A server that has written and sealed this many sections, and has ended. */
async function ended(sections: number, { instance = 'ended', stored = new Stored() } = {}): Promise<Stored> {
  const { ledger, clock } = openLedger({ instance, stored })
  for (let section = 0; section < sections; section++) {
    await ledger.append([call({ at: clock.wall() }), call({ at: clock.wall() })], [])
    clock.advance(HOUR)
    await settle()
  }
  await ledger.close()
  stored.alive.delete(instance)
  return stored
}

/** Changes all rows and their hashes, as an attacker without the key can. */
function rewrite(stored: Stored, chain = 'ended'): void {
  let before = GENESIS
  stored.rows = stored.rows.map((row) => {
    if (row.chain !== chain) return row
    const changed = { ...row, tool: 'harmless' }
    before = rowHash(before, changed)
    return { ...changed, hash: before }
  })
}

/** A server that starts two hours later, and looks for chains to seal. */
async function startLater(stored: Stored, instance = 'later') {
  const opened = openLedger({ instance, stored })
  opened.clock.advance(2 * HOUR)
  await settle()
  return opened
}

const seals = (stored: Stored, chain = 'ended') => stored.seals.filter((seal) => seal.chain === chain)

test('a server seals its chain to the end when it closes, and numbers the seals', async () => {
  const stored = await ended(2)
  await ended(1, { instance: 'second', stored })
  expect(stored.seals.map(({ chain, toSeq, mac }) => [chain, toSeq, numberOf({ mac })])).toEqual([
    ['ended', 2, 1],
    ['ended', 4, 2],
    ['second', 2, 3],
  ])
  expect(stored.sealRecord).toBe(sealRecord(KEY, 3))
  expect(await faultsOf(stored)).toEqual([])
})

describe('without the key', () => {
  test('a chain whose seals were removed is reported, and a later server does not seal it again', async () => {
    const stored = await ended(2)
    await ended(1, { instance: 'second', stored })
    stored.seals = stored.seals.filter(({ chain }) => chain !== 'ended')
    rewrite(stored)
    const missing = ['Seals 1 to 2 of 3 are missing: they were removed']
    expect(await faultsOf(stored)).toEqual(missing)
    const { ledger, log } = await startLater(stored)
    expect(seals(stored)).toEqual([])
    expect(log.lines.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      "Seals of the audit log are missing, or were changed: run 'toolyard audit verify'",
      "The audit chain 'ended' is not sealed from row 1 on: run 'toolyard audit verify'",
    ])
    expect((await ledger.verify()).faults).toEqual([{ chain: '*', at: 0, problem: missing[0] }])
  })

  test('all seals were removed, and the record was not', async () => {
    const stored = await ended(1)
    stored.seals = []
    rewrite(stored)
    await startLater(stored)
    expect(seals(stored)).toEqual([])
    expect(await faultsOf(stored)).toEqual(['Seal 1 of 1 is missing: it was removed'])
  })

  test('the last seal of a chain was removed, and other servers seal their own chains', async () => {
    const stored = await ended(3)
    stored.seals.pop()
    const { ledger, clock } = await startLater(stored)
    await ledger.append([call({ at: clock.wall() })], [])
    await ledger.close()
    expect(seals(stored).map(({ toSeq }) => toSeq)).toEqual([2, 4])
    expect(seals(stored, 'later').map(numberOf)).toEqual([4])
    expect(await faultsOf(stored)).toEqual(['Seal 3 of 4 is missing: it was removed'])
  })

  test.each([
    ['removed', null, 'The record of all seals is missing: it was removed'],
    ['changed', '{"seals":1,"mac":"x"}', 'The record of all seals was changed, or created without the key'],
    ['made invalid', '[', 'The record of all seals was changed, or created without the key'],
    ['of another key', sealRecord('other', 1), 'The record of all seals was changed, or created without the key'],
    [
      'replaced by an older one',
      sealRecord(KEY, 1),
      'The record of all seals counts 1 of 2: it was replaced by an older one',
    ],
  ])('the record was %s: it is reported for ever, and nothing is sealed from the table', async (_, record, problem) => {
    const stored = await ended(2)
    await ended(1, { instance: 'second', stored })
    stored.sealRecord = record
    stored.seals.splice(2, 1)
    rewrite(stored, 'second')
    expect(await faultsOf(stored)).toEqual([problem])
    const { ledger, clock } = await startLater(stored)
    expect(seals(stored, 'second')).toEqual([])
    await ledger.append([call({ at: clock.wall() })], [])
    await ledger.close()
    expect(seals(stored, 'later')).toHaveLength(1)
    expect(await faultsOf(stored)).not.toEqual([])
  })

  test('a forged seal takes the number of a removed one: it is reported, and nothing is sealed from the table', async () => {
    const stored = await ended(1)
    await ended(1, { instance: 'second', stored })
    const [first] = seals(stored)
    stored.seals = [...seals(stored, 'second'), { ...(first as Seal), chain: 'forged' }]
    rewrite(stored)
    await startLater(stored)
    expect(seals(stored)).toEqual([])
    expect(await faultsOf(stored)).toContain('The seal of rows 1 to 2 was changed, or created without the key')
  })

  test('the number of a seal was changed or removed', async () => {
    const stored = await ended(1)
    const [seal] = stored.seals as [Seal]
    for (const mac of [seal.mac.replace('1:', '2:'), seal.mac.replace('1:', ''), seal.mac.replace('1:', '01:')]) {
      stored.seals = [{ ...seal, mac }]
      expect(await faultsOf(stored)).toContain('The seal of rows 1 to 2 was changed, or created without the key')
    }
  })

  test('a server that runs remembers how many seals there were', async () => {
    const stored = await ended(2)
    const { ledger, clock } = await startLater(stored, 'running')
    stored.seals = []
    stored.sealRecord = null
    rewrite(stored)
    expect((await ledger.verify()).faults).toMatchObject([
      { problem: 'Seals 1 to 2 of 2 are missing: they were removed' },
      { problem: 'The record of all seals is missing: it was removed' },
    ])
    await ledger.append([call({ at: clock.wall() })], [])
    await ledger.close()
    expect(await faultsOf(stored)).toEqual(['Seals 1 to 2 of 3 are missing: they were removed'])
  })
})

describe('a store of an earlier version', () => {
  async function old(): Promise<Stored> {
    const stored = await ended(2)
    stored.seals = stored.seals.map(({ mac: _, ...seal }) => sealed(KEY, seal))
    stored.sealRecord = null
    return stored
  }

  test('is intact, and its seals get numbers when a server starts', async () => {
    const stored = await old()
    expect(await faultsOf(stored)).toEqual([])
    const before = stored.seals.map(({ mac: _, ...seal }) => seal)
    const { log } = await startLater(stored)
    expect(stored.seals.map(numberOf)).toEqual([1, 2])
    expect(stored.seals.map(({ mac: _, ...seal }) => seal)).toEqual(before)
    expect(await faultsOf(stored)).toEqual([])
    expect(log.lines).toEqual([])
    stored.seals.pop()
    expect(await faultsOf(stored)).toEqual(['Seal 2 of 2 is missing: it was removed'])
  })

  test('is intact with the first seal that has a number, and with one that an earlier version adds', async () => {
    const stored = await old()
    const tables = new MemoryTables('short', stored)
    const { clock } = openLedger()
    const chain = new OwnChain(tables, 'short', KEY, clock)
    await chain.append([call()], (rows) => tables.write({ rows, runs: [], cells: [] }))
    await chain.seal()
    expect(stored.seals.map(numberOf)).toEqual([undefined, undefined, 1])
    expect(await faultsOf(stored)).toEqual([])
  })

  test('a changed seal gets no number', async () => {
    const stored = await old()
    stored.seals[0] = { ...(stored.seals[0] as Seal), lastAt: 5 }
    await startLater(stored)
    expect(stored.seals.map(numberOf)).toEqual([undefined, 1])
    expect(await faultsOf(stored)).toContain('The seal of rows 1 to 2 was changed, or created without the key')
  })
})

test('servers that seal, number, expire and verify at once find no faults', async () => {
  const stored = await ended(3, { instance: 'first' })
  stored.seals = stored.seals.map(({ mac: _, ...seal }) => sealed(KEY, seal))
  stored.sealRecord = null
  for (let n = 0; n < 5; n++) {
    const { ledger } = openLedger({ instance: `dead-${n}`, stored })
    await ledger.append([call(), call()], [])
    stored.alive.delete(`dead-${n}`)
  }
  const servers = Array.from({ length: 6 }, (_, n) => openLedger({ instance: `server-${n}`, stored }))
  for (const { tables } of servers) {
    tables.before = async () => {
      for (let turns = Math.random() * 4; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await Promise.all(
    servers.map(async ({ ledger, clock, tables }) => {
      for (let hour = 0; hour < 6; hour++) {
        await ledger.append([call({ at: clock.wall() })], [])
        clock.advance(HOUR)
        if (hour === 3) await ledger.expire(clock.wall() + 8 * DAY)
        expect((await verifyChains(tables, KEY, new Map())).faults).toEqual([])
      }
      await ledger.close()
    }),
  )
  expect(await faultsOf(stored)).toEqual([])
  expect(stored.seals.map(numberOf).sort((a, b) => Number(a) - Number(b))).toEqual(stored.seals.map((_, n) => n + 1))
  expect(servers.flatMap(({ log }) => log.at('error'))).toEqual([])
})

test('rows of an ended chain that should have been sealed are reported apart from faults', async () => {
  const { ledger, stored, clock } = openLedger({ instance: 'killed' })
  await ledger.append([call({ at: clock.wall() }), call({ at: clock.wall() })], [])
  const tables = new MemoryTables('verify', stored)
  const overdue = async (now: number) => {
    const report = await verifyChains(tables, KEY, new Map(), { now })
    expect(report.faults).toEqual([])
    return report.overdue
  }
  expect(await overdue(clock.wall() + 4 * HOUR)).toBeUndefined()
  stored.alive.delete('killed')
  expect(await overdue(clock.wall() + 3 * HOUR - 1)).toBeUndefined()
  const problem = 'Rows 1 to 2 have no seal, although the server has ended'
  expect(await overdue(clock.wall() + 3 * HOUR)).toEqual([{ chain: 'killed', at: 1, problem }])
  await startLater(stored)
  expect(await overdue(clock.wall() + 4 * HOUR)).toBeUndefined()
})
