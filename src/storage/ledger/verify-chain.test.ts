import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { event } from '../fixtures/call-entry.ts'
import { GENESIS, rowHash } from './chain-row.ts'
import type { Stored } from './fixtures/memory-tables.ts'
import { call, openLedger } from './fixtures/open-ledger.ts'
import type { ChainRow, Seal } from './ledger-tables.ts'
import { sealed } from './seal.ts'
import { verifyChains } from './verify-chain.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const KEY = 'the key of this installation'

/** A chain of four stretches of three rows each, the first one expired, and two rows in no seal yet. */
async function fullChain(instance = 'server-1', stored?: Stored) {
  const opened = openLedger({ instance, ...(stored && { stored }) })
  const { ledger, clock, tables } = opened
  const stretch = async () => {
    const at = clock.wall()
    await ledger.append([call({ at }), call({ at: at + 1, tool: 'b' })], [], [event({ at: at + 2 })])
  }
  await stretch()
  clock.advance(8 * DAY)
  for (let n = 0; n < 3; n++) {
    await stretch()
    clock.advance(HOUR)
  }
  await ledger.append([call({ at: clock.wall() }), call({ at: clock.wall() })], [])
  await ledger.expire(clock.wall())
  const verify = () => verifyChains(tables, KEY, new Map())
  return { ...opened, verify }
}

const row = (stored: Stored, seq: number): ChainRow => stored.rows.find((one) => one.seq === seq) as ChainRow
const change = (stored: Stored, seq: number, changes: Partial<ChainRow>): void => {
  stored.rows = stored.rows.map((one) => (one.seq === seq ? { ...one, ...changes } : one))
}
/** Makes the hashes fit again, from a row on, as somebody can who has the database. */
const rehash = (stored: Stored, from: number, to: number): void => {
  for (let seq = from; seq <= to; seq++)
    change(stored, seq, { hash: rowHash(row(stored, seq - 1).hash, row(stored, seq)) })
}
const changeSeal = (stored: Stored, fromSeq: number, changes: Partial<Seal>): void => {
  stored.seals = stored.seals.map((seal) => (seal.fromSeq === fromSeq ? { ...seal, ...changes } : seal))
}
const remove = (stored: Stored, ...seqs: number[]): void => {
  stored.rows = stored.rows.filter(({ seq }) => !seqs.includes(seq))
}

test('an unchanged chain verifies, and expired rows are counted separately', async () => {
  const { verify } = await fullChain()
  expect(await verify()).toEqual({ chains: 1, rows: 11, expired: 3, seals: 4, unsealed: 2, faults: [] })
})

describe('finds changes by somebody with access to the database but without the key', () => {
  type Tampering = readonly [what: string, tamper: (stored: Stored) => void, at: number, problem: string]
  const changed = (seq: number) => `Row ${seq} does not match its hash: it or the previous row was changed`
  const tamperings: readonly Tampering[] = [
    ['a row is changed', (stored) => change(stored, 5, { tool: 'harmless' }), 5, changed(5)],
    ['a model is added', (stored) => change(stored, 5, { model: 'mini:one' }), 5, changed(5)],
    ['a version is added', (stored) => change(stored, 5, { version: '1.0.0' }), 5, changed(5)],
    ['a cost is added', (stored) => change(stored, 5, { cost: 0 }), 5, changed(5)],
    ['a key is added', (stored) => change(stored, 5, { key: 'key-9' }), 5, changed(5)],
    ['a call becomes an event', (stored) => change(stored, 5, { event: 'key.created' }), 5, changed(5)],
    ['a call gets a subject', (stored) => change(stored, 5, { subject: 'key-9' }), 5, changed(5)],
    ['an event becomes a call', (stored) => change(stored, 6, { event: null }), 6, changed(6)],
    ['the subject of an event is changed', (stored) => change(stored, 6, { subject: 'key-9' }), 6, changed(6)],
    ['the detail of an event is changed', (stored) => change(stored, 6, { detail: '{}' }), 6, changed(6)],
    ['the count of an event is changed', (stored) => change(stored, 6, { attempts: 0 }), 6, changed(6)],
    ['a hash is changed', (stored) => change(stored, 5, { hash: GENESIS }), 5, changed(5)],
    ['an unsealed row is changed', (stored) => change(stored, 13, { tenant: 'evil' }), 13, changed(13)],
    ['a row is removed', (stored) => remove(stored, 5), 5, 'Row 5 is missing'],
    ['a whole sealed stretch is removed', (stored) => remove(stored, 7, 8, 9), 7, 'Rows 7 to 9 are missing'],
    ['the end of a sealed stretch is removed', (stored) => remove(stored, 11, 12), 11, 'Rows 11 to 12 are missing'],
    ['a row before others that are unsealed is removed', (stored) => remove(stored, 13), 13, 'Row 13 is missing'],
    [
      'rows change places',
      (stored) => {
        const [five, six] = [row(stored, 5), row(stored, 6)]
        change(stored, 5, { ...six, seq: 5 })
        change(stored, 6, { ...five, seq: 6 })
      },
      5,
      changed(5),
    ],
    [
      'a row is changed and all hashes after it are made anew',
      (stored) => {
        change(stored, 8, { tool: 'harmless' })
        rehash(stored, 8, 14)
      },
      7,
      'Rows 7 to 9 do not match the hash in their seal: they were rewritten',
    ],
    [
      'a row is removed and the others move up',
      (stored) => {
        remove(stored, 8)
        change(stored, 9, { seq: 8 })
      },
      8,
      changed(8),
    ],
    [
      'a row is added to what has expired',
      (stored) => stored.rows.push({ ...row(stored, 4), seq: 2 }),
      2,
      'Row 2 should not exist: it was added',
    ],
    [
      'a row is added before the first one',
      (stored) => stored.rows.push({ ...row(stored, 4), seq: 0 }),
      0,
      'Row 0 should not exist: it was added',
    ],
    [
      'a row is added with a number that is no safe integer',
      (stored) => stored.rows.push({ ...row(stored, 4), seq: -(2 ** 53) }),
      -(2 ** 53),
      'Row -9007199254740992 should not exist: it was added',
    ],
    [
      'a seal in the middle is removed',
      (stored) => {
        stored.seals = stored.seals.filter(({ fromSeq }) => fromSeq !== 7)
      },
      7,
      'No seal covers rows 7 to 9: it was removed or changed',
    ],
    [
      'the seal of what has expired is removed',
      (stored) => {
        stored.seals = stored.seals.filter(({ fromSeq }) => fromSeq !== 1)
      },
      1,
      'No seal covers rows 1 to 3: it was removed or changed',
    ],
    [
      'a seal is changed',
      (stored) => changeSeal(stored, 7, { lastAt: 0 }),
      7,
      'The seal of rows 7 to 9 was changed, or created without the key',
    ],
    [
      'rows are removed and their seal says that they expired',
      (stored) => {
        remove(stored, 7, 8, 9)
        changeSeal(stored, 7, { expiredAt: Date.UTC(2026, 0, 20) })
      },
      7,
      'The seal of rows 7 to 9 was changed, or created without the key',
    ],
    [
      'rows are written anew and sealed with another key',
      (stored) => {
        change(stored, 8, { tool: 'harmless' })
        rehash(stored, 8, 14)
        const seal = stored.seals.find(({ fromSeq }) => fromSeq === 7) as Seal
        changeSeal(stored, 7, sealed('a key of my own', { ...seal, lastHash: row(stored, 9).hash }))
      },
      7,
      'The seal of rows 7 to 9 was changed, or created without the key',
    ],
    [
      'the first row after what has expired is changed and all hashes after it are made anew',
      (stored) => {
        change(stored, 4, { tool: 'harmless' })
        change(stored, 4, { hash: rowHash(GENESIS, row(stored, 4)) })
        rehash(stored, 5, 14)
      },
      4,
      changed(4),
    ],
    [
      'rows at the end are sealed with another key',
      (stored) => {
        stored.seals.push(sealed('a key of my own', { ...(stored.seals[3] as Seal), fromSeq: 13, toSeq: 14 }))
      },
      13,
      'The seal of rows 13 to 14 was changed, or created without the key',
    ],
  ]

  test.each(tamperings)('%s', async (_what, tamper, at, problem) => {
    const { stored, verify } = await fullChain()
    tamper(stored)
    expect((await verify()).faults[0]).toEqual({ chain: 'server-1', at, problem })
  })

  test('a seal in the middle is removed and its rows are rewritten', async () => {
    const { stored, verify } = await fullChain()
    stored.seals = stored.seals.filter(({ fromSeq }) => fromSeq !== 7)
    change(stored, 8, { tool: 'harmless' })
    rehash(stored, 8, 9)
    expect((await verify()).faults.map(({ problem }) => problem)).toEqual([
      'No seal covers rows 7 to 9: it was removed or changed',
      'The seal of rows 10 to 12 does not follow from the previous row: earlier rows were changed',
      'Seal 3 of 4 is missing: it was removed',
    ])
  })

  test('a row is added before the first one of a chain without seals', async () => {
    const { ledger, stored } = openLedger()
    await ledger.append([call()], [])
    stored.rows.push({ ...row(stored, 1), seq: 0 })
    const problem = 'Row 0 should not exist: it was added'
    expect((await ledger.verify()).faults).toEqual([{ chain: 'server-1', at: 0, problem }])
  })

  test('rows are removed during the walk, and their seal says that they expired', async () => {
    const { stored, tables, verify } = await fullChain()
    tables.before = (method) => {
      if (method !== 'stretch') return
      remove(stored, 7, 8, 9)
      changeSeal(stored, 7, { expiredAt: Date.UTC(2026, 0, 20) })
    }
    expect((await verify()).faults[0]).toEqual({ chain: 'server-1', at: 7, problem: 'Rows 7 to 9 are missing' })
  })

  test('one fault does not hide another, nor does it stand for the whole chain', async () => {
    const { stored, verify } = await fullChain()
    change(stored, 5, { tool: 'x' })
    remove(stored, 11)
    expect(await verify()).toMatchObject({ rows: 10, faults: [{ at: 5 }, { at: 11 }] })
  })

  test('the server that writes a chain misses the end of it that no seal covers', async () => {
    const { stored, ledger, verify } = await fullChain()
    remove(stored, 14)
    expect((await verify()).faults).toEqual([])
    expect((await ledger.verify()).faults).toEqual([{ chain: 'server-1', at: 14, problem: 'Row 14 is missing' }])
  })

  test('the server that writes a chain knows its end', async () => {
    const { stored, ledger } = await fullChain()
    change(stored, 14, { tool: 'harmless' })
    rehash(stored, 14, 14)
    const problem = 'Row 14 is not the one that this server wrote: the rows up to it were rewritten'
    expect((await ledger.verify()).faults).toEqual([{ chain: 'server-1', at: 14, problem }])
  })
})

test('every chain is walked, and a fault names its own', async () => {
  const { stored } = await fullChain()
  const { ledger } = await fullChain('server-2', stored)
  const at = stored.rows.findIndex(({ chain, seq }) => chain === 'server-2' && seq === 6)
  stored.rows[at] = { ...(stored.rows[at] as ChainRow), attempts: 7 }
  expect(await ledger.verify()).toMatchObject({
    chains: 2,
    rows: 22,
    expired: 6,
    faults: [{ chain: 'server-2', at: 6 }],
  })
})

test('two seals of ours never cover the same row', async () => {
  const { stored, verify } = await fullChain()
  const seal = stored.seals.find(({ fromSeq }) => fromSeq === 4) as Seal
  stored.seals.push(sealed(KEY, { ...seal, fromSeq: 5, toSeq: 6, beforeHash: row(stored, 4).hash }))
  const problem = 'The seal of rows 5 to 6 covers rows that another seal covers'
  expect((await verify()).faults[0]).toEqual({ chain: 'server-1', at: 5, problem })
})

test('a long chain is read in pages', async () => {
  const { ledger } = openLedger()
  await ledger.append(new Array(2_500).fill(call({ params: null })), [])
  expect(await ledger.verify()).toMatchObject({ rows: 2_500, unsealed: 2_500, faults: [] })
  await ledger.close()
  expect(await ledger.verify()).toMatchObject({ rows: 2_500, unsealed: 0, faults: [] })
})

test('a stretch that expires while it is being read is not missing', async () => {
  const { ledger, tables, clock, verify } = await fullChain()
  clock.advance(8 * DAY)
  let expired: Promise<unknown> | undefined
  tables.before = (method) => {
    if (method !== 'stretch' || expired !== undefined) return
    expired = Promise.resolve()
    expired = ledger.expire(clock.wall())
    return expired as Promise<void>
  }
  expect(await verify()).toMatchObject({ rows: 2, expired: 12, faults: [] })
})

test('any single change to any field of any row or seal is found', async () => {
  const { stored, verify } = await fullChain()
  const whole = { rows: stored.rows, seals: stored.seals }
  const otherValue = (value: unknown): unknown =>
    typeof value === 'number' ? value + 1 : typeof value === 'string' ? `${value}x` : 'x'
  // Without the last unsealed rows nothing tells that there ever were any.
  const removable = [...whole.rows.filter(({ seq }) => seq < 14), ...whole.seals]
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.record({ target: fc.constantFrom(...whole.rows), field: fc.constantFrom(...Object.keys(row(stored, 4))) }),
        fc.record({
          target: fc.constantFrom(...whole.seals),
          field: fc.constantFrom(...Object.keys(whole.seals[0] as Seal)),
        }),
        fc.record({ target: fc.constantFrom(...removable), field: fc.constant(undefined) }),
      ),
      async ({ target, field }) => {
        const tampered = <T extends object>(all: readonly T[]): T[] =>
          all.flatMap((one) => {
            if ((one as object) !== target) return [one]
            return field === undefined ? [] : [{ ...one, [field]: otherValue(one[field as keyof T]) }]
          })
        stored.rows = tampered(whole.rows)
        stored.seals = tampered(whole.seals)
        expect((await verify()).faults).not.toEqual([])
      },
    ),
    { numRuns: 300 },
  )
})
