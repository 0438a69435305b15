import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ChainHead } from '../../core/storage/ledger.ts'
import { readHeads } from './chain-heads.ts'
import { rowHash } from './chain-row.ts'
import type { Stored } from './fixtures/memory-tables.ts'
import { call, KEY, openLedger } from './fixtures/open-ledger.ts'
import type { ChainRow, Seal } from './ledger-tables.ts'
import { sealed, sealRecord } from './seal.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'toolyard-heads-'))
  onTestFinished(() => rm(made, { recursive: true, force: true }))
  return made
}

/** A chain of three sealed sections of two rows each, and one row in none. */
async function sealedChain() {
  const headsFile = join(await folder(), 'heads.jsonl')
  const opened = openLedger({ headsFile })
  const { ledger, clock } = opened
  const append = (count: number) =>
    ledger.append(
      Array.from({ length: count }, () => call({ at: clock.wall() })),
      [],
    )
  for (let section = 0; section < 3; section++) {
    await append(2)
    clock.advance(HOUR)
  }
  await append(1)
  const heads = async () => readHeads(await readFile(headsFile, 'utf8'))
  // A server that has started later: it doesn't remember what the first one wrote.
  const later = openLedger({ instance: 'server-2', stored: opened.stored, clock }).ledger
  const verify = async () => (await later.verify(await heads())).faults
  return { ...opened, headsFile, heads, later, verify }
}

/** Changes a row and all hashes and seals after it, as somebody can who has the database and the key. */
function forge(stored: Stored, from: number): void {
  let before = stored.rows.find(({ seq }) => seq === from - 1)?.hash ?? '0'.repeat(64)
  const hashes = new Map<number, string>()
  stored.rows = stored.rows.map((row) => {
    if (row.seq < from) return row
    const changed: ChainRow = row.seq === from ? { ...row, tool: 'harmless' } : row
    before = rowHash(before, changed)
    hashes.set(row.seq, before)
    return { ...changed, hash: before }
  })
  stored.seals = stored.seals.map((seal: Seal) =>
    sealed(KEY, {
      ...seal,
      beforeHash: hashes.get(seal.fromSeq - 1) ?? seal.beforeHash,
      lastHash: hashes.get(seal.toSeq) ?? seal.lastHash,
    }),
  )
}

test('the file and the log get the end of every section when it is sealed', async () => {
  const { heads, headsFile, ledger, stored, log } = await sealedChain()
  const sealsOf = () => stored.seals.map(({ chain, toSeq, lastHash }) => ({ chain, seq: toSeq, hash: lastHash }))
  expect(await heads()).toEqual(sealsOf())
  await ledger.close()
  expect(await heads()).toEqual(sealsOf())
  expect((await heads()).map(({ seq }) => seq)).toEqual([2, 4, 6, 7])
  const logged = log.lines.filter(({ message }) => message === 'Audit chain sealed').map(({ fields }) => fields)
  expect(logged).toEqual(await heads())
  expect((await stat(headsFile)).mode & 0o077).toBe(0)
})

describe('a comparison with the file', () => {
  test('finds nothing in a chain that is as it was, also after rows have expired', async () => {
    const { verify, later, clock } = await sealedChain()
    expect(await verify()).toEqual([])
    clock.advance(8 * DAY)
    expect((await later.expire(clock.wall())).audit).toBeGreaterThan(0)
    expect(await verify()).toEqual([])
  })

  test('finds a chain that was rewritten with the key', async () => {
    const { verify, later, stored } = await sealedChain()
    forge(stored, 3)
    expect((await later.verify()).faults).toEqual([])
    const problem = (row: number) =>
      `Row ${row} has another hash than when it was sealed: the rows up to it were rewritten`
    expect(await verify()).toEqual([4, 6].map((at) => ({ chain: 'server-1', at, problem: problem(at) })))
  })

  test('finds the end of a chain that was removed with its seals, and a whole chain', async () => {
    const { verify, later, stored } = await sealedChain()
    stored.rows = stored.rows.filter(({ seq }) => seq <= 2)
    stored.seals = stored.seals.filter(({ toSeq }) => toSeq <= 2)
    expect((await later.verify()).faults).toMatchObject([
      { problem: 'Seals 2 to 3 of 3 are missing: they were removed' },
    ])
    // An attacker with the key, or with an older copy of the record, removes it without a trace.
    stored.sealRecord = sealRecord(KEY, 1)
    expect((await later.verify()).faults).toEqual([])
    const missing = (at: number) => {
      return {
        chain: 'server-1',
        at,
        problem: `Row ${at} was sealed, and is missing: the end of the chain was removed`,
      }
    }
    expect(await verify()).toEqual([4, 6].map(missing))
    stored.rows = []
    stored.seals = []
    stored.sealRecord = null
    expect((await later.verify()).faults).toEqual([])
    expect(await verify()).toEqual([2, 4, 6].map(missing))
  })

  test('does not find that rows after the last section were removed', async () => {
    const { verify, stored } = await sealedChain()
    stored.rows = stored.rows.filter(({ seq }) => seq <= 6)
    expect(await verify()).toEqual([])
  })

  test('finds a position for which the file has two hashes', async () => {
    const { later, heads } = await sealedChain()
    const [first] = await heads()
    const twice = [...(await heads()), { ...first, hash: 'f'.repeat(64) } as ChainHead]
    expect((await later.verify(twice)).faults).toMatchObject([{ at: 2 }])
  })
})

test('an end that cannot be written is logged, and the section is sealed', async () => {
  const headsFile = join(await folder(), 'none', 'heads.jsonl')
  const { ledger, clock, log, stored } = openLedger({ headsFile })
  await ledger.append([call({ at: clock.wall() })], [])
  clock.advance(HOUR)
  await ledger.append([call({ at: clock.wall() })], [])
  expect(stored.seals).toHaveLength(1)
  expect(log.at('error')).toMatchObject([{ seq: 1, err: { code: 'ENOENT' } }])
})

test('heads are read from a log, among other lines', () => {
  const hash = 'a'.repeat(64)
  const line = { level: 30, time: 1, chain: 'c', seq: 7, hash, msg: 'Audit chain sealed' }
  const others = ['', 'text', 'null', '[]', '7', '{"chain":"c","seq":7}', JSON.stringify({ ...line, hash: 'x' })]
  expect(readHeads([...others, JSON.stringify(line), ...others].join('\n'))).toEqual([{ chain: 'c', seq: 7, hash }])
})
