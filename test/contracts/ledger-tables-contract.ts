import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { StoredRun } from '../../src/core/storage/run-store.ts'
import { chainRow as anyRow } from '../../src/storage/fixtures/audit-rows.ts'
import type { Cell, ChainRow, Seal } from '../../src/storage/ledger/ledger-tables.ts'
import type { Engine } from '../../src/storage/sql/engine.ts'
import type { ContractCase } from '../../src/testing/kind-contract.ts'
import type { OpenOptions } from './storage/contract-store.ts'
import { until } from './storage/contract-store.ts'

const chainRow = (chain: string, seq: number, more: Partial<ChainRow> = {}): ChainRow =>
  anyRow({ chain, seq, at: 1_000 + seq, duration_ms: 0.001, hash: `hash ${seq}`, ...more })

const seal = (chain: string, fromSeq: number, toSeq: number, more: Partial<Seal> = {}): Seal => ({
  chain,
  fromSeq,
  toSeq,
  beforeHash: `hash ${fromSeq - 1}`,
  lastHash: `hash ${toSeq}`,
  firstAt: 1_000 + fromSeq,
  lastAt: 1_000 + toSeq,
  sealedAt: 5_000,
  expiredAt: null,
  mac: 'mac',
  ...more,
})

const cell = (more: Partial<Cell> = {}): Cell => ({
  width: 'hour',
  start: 3_600_000,
  tenant: 'acme',
  kind: 'call',
  tool: 'add',
  model: '',
  data: Uint8Array.of(1, 0, 255),
  ...more,
})

const run: StoredRun = {
  id: 'run',
  tenant: 'acme',
  caller: null,
  model: 'mini:one',
  service: 'chat',
  started_at: new Date(1_000).toISOString(),
  duration_ms: 1,
  stop_reason: 'stop',
  iterations: 1,
  tool_calls: 0,
  prompt_tokens: 1,
  completion_tokens: 1,
  cost: null,
  error: null,
  question: '',
  answer: '',
  steps: [],
}

const NOTHING = { rows: [], runs: [], cells: [] }
const CALLS = { tenant: 'acme', kind: 'call', width: 'hour', from: 0 } as const

/** Cells without what differs between the ways to hold bytes. */
const plain = (cells: readonly Cell[]): unknown[] =>
  cells
    .map(({ width, start, tenant, kind, tool, model, data }) =>
      [width, start, tenant, kind, tool, model, ...data].join(' '),
    )
    .toSorted()

const put = ({ tables }: Pick<Engine, 'tables'>, each: Seal) =>
  tables.putSeal(each.chain, () => ({ seal: each, record: 'a record' }))

type OpenEngine = (instance: string, aliveMs?: number) => Promise<Engine>

const clauses: Readonly<Record<string, (open: OpenEngine) => Promise<void>>> = {
  'a batch is written whole or not at all': async (open) => {
    const { tables, runs } = await open('one')
    await tables.write({ ...NOTHING, rows: [chainRow('one', 1)] })
    await assert.rejects(tables.write({ rows: [chainRow('one', 2), chainRow('one', 1)], runs: [run], cells: [cell()] }))
    assert.deepEqual(await tables.stretch('one', 1, 10), [chainRow('one', 1)])
    assert.equal(await runs.get('acme', 'run'), undefined)
    assert.deepEqual(await tables.cells(CALLS), [])
  },

  'the first calls of a version are found by their time': async (open) => {
    const { tables } = await open('one')
    const of = (seq: number, more: Partial<ChainRow> = {}) => chainRow('one', seq, { version: '1.0.0', ...more })
    const failed = { outcome: 'failure', code: 'TIMEOUT', duration_ms: 30.5 } as const
    await tables.write({
      ...NOTHING,
      rows: [
        of(1, { cost: 250 }),
        of(2, failed),
        of(3, { ...failed, code: 'RATE_LIMITED' }),
        of(4, { tenant: 'globex' }),
        of(5, { version: '2.0.0' }),
        of(6, { version: null }),
        of(7, { tool: 'other' }),
        of(8, { at: 900 }),
      ],
    })
    const query = { tenant: undefined, tool: 'add', version: '1.0.0', from: 1_000, limit: 10 }
    const { duration_ms: ms } = of(1)
    const [first, second, fourth] = [
      { at: 1_001, failed: false, ms, cost: 250 },
      { at: 1_002, failed: true, ms: 30.5, cost: null },
      { at: 1_004, failed: false, ms, cost: null },
    ]
    assert.deepEqual(await tables.versionCalls(query, ['RATE_LIMITED', 'CANCELLED']), [first, second, fourth])
    assert.deepEqual(await tables.versionCalls({ ...query, tenant: 'acme', limit: 1 }, ['RATE_LIMITED']), [first])
    assert.deepEqual(await tables.versionCalls({ ...query, tenant: 'globex' }, ['RATE_LIMITED']), [fourth])
  },

  'rows are read back exactly as they were written': async (open) => {
    const { tables } = await open('one')
    const full = chainRow('one', 2, {
      at: 1_790_000_000_123,
      caller: 'Ünï 👩‍🚀',
      source: 'http',
      run_id: 'run',
      model: 'mini:one',
      version: '1.0.0-beta+ä',
      cost: 9_007_199_254_740_991,
      key: 'key-1',
      schema_hash: 'a',
      params_hash: 'b',
      outcome: 'unknown',
      code: 'TIMEOUT',
      duration_ms: 123_456.789,
      attempts: 7,
    })
    await tables.write({ ...NOTHING, rows: [chainRow('one', 1), full] })
    assert.deepEqual(await tables.stretch('one', 1, 10), [chainRow('one', 1), full])
    assert.deepEqual(await tables.rows({ tenant: 'acme', limit: 10 }), [full, chainRow('one', 1)])
  },

  'a stretch is read in order, from the given row': async (open) => {
    const { tables } = await open('one')
    const rows = Array.from({ length: 30 }, (_, index) => chainRow('one', index + 1))
    await tables.write({ ...NOTHING, rows: [...rows.toReversed(), chainRow('other', 7)] })
    assert.deepEqual(await tables.stretch('one', 5, 3), rows.slice(4, 7))
    assert.deepEqual(await tables.stretch('one', 29, 10), rows.slice(28))
    assert.deepEqual(await tables.stretch('one', 31, 10), [])
    assert.deepEqual(await tables.stretch('nobody', 1, 10), [])
  },

  'rows whose numbers are not safe integers are found by their numbers only': async (open) => {
    const { tables } = await open('one')
    const rows = Array.from({ length: 30 }, (_, index) => chainRow('one', index + 1))
    const numbers = ['-9223372036854775808', '-9007199254740992', '9007199254740993']
    const added = numbers.map((number) => chainRow('one', 0, { seq: BigInt(number) as unknown as number, at: 1_005 }))
    await tables.write({ ...NOTHING, rows: [...rows, ...added] })
    assert.deepEqual(await tables.stretch('one', Number.MIN_SAFE_INTEGER, 100), rows)
    assert.deepEqual(await tables.rows({ tenant: 'acme', limit: 100 }), rows.toReversed())
    assert.deepEqual(await tables.rows({ tenant: 'acme', tool: 'add', limit: 100 }), rows.toReversed())
    assert.deepEqual(await tables.misnumbered('one', 10), numbers)
    assert.deepEqual(await tables.misnumbered('one', 1), numbers.slice(0, 1))
    assert.deepEqual(await tables.misnumbered('nobody', 10), [])
  },

  'chains are those with rows or seals, alive if their instance is': async (open) => {
    const [one, other] = [await open('one', 3_600_000), await open('other', 300)]
    assert.deepEqual(await one.tables.chains(), [])
    await one.tables.write({ ...NOTHING, rows: [chainRow('one', 1), chainRow('long gone', 1)] })
    await put(other, seal('other', 1, 5))
    const alive = async ({ tables }: Engine) =>
      Object.fromEntries((await tables.chains()).map((each) => [each.chain, each.alive]))
    await until('an instance that fell silent', async () => (await alive(other)).one === false)
    assert.deepEqual(await alive(other), { one: false, other: true, 'long gone': false })
    assert.equal((await alive(one)).one, true)
    await other.close()
    assert.deepEqual(await alive(one), { one: true, other: false, 'long gone': false })
  },

  'of two seals that begin at the same row the first is stored': async (open) => {
    const [one, other] = [await open('one'), await open('other')]
    const added = await Promise.all([put(one, seal('x', 1, 5)), put(other, seal('x', 1, 9)), put(one, seal('y', 1, 2))])
    assert.deepEqual([added[0] !== added[1], added[2]], [true, true])
    assert.deepEqual(await one.tables.seals('x'), [seal('x', 1, added[0] ? 5 : 9)])
    assert.equal(await put(other, seal('x', 10, 12)), true)
    assert.deepEqual(
      (await one.tables.seals('x')).map(({ fromSeq }) => fromSeq),
      [1, 10],
    )
    assert.deepEqual(await one.tables.seals('nobody'), [])
  },

  'a seal is stored with the record that follows the previous one': async (open) => {
    const [one, other] = [await open('one'), await open('other')]
    assert.equal(await one.tables.sealRecord(), null)
    const count = ({ tables }: Engine, each: Seal, replaces?: string) =>
      tables.putSeal(each.chain, (record) => ({ seal: each, record: String(Number(record) + 1) }), replaces)
    const servers = [one, other, one, other]
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => count(servers[index % 4] as Engine, seal(`chain ${index % 20}`, 1, 2))),
    )
    assert.equal(await other.tables.sealRecord(), '20')
    assert.equal(await count(other, seal('chain 3', 1, 2, { mac: 'new' }), 'not this'), false)
    assert.equal(await count(other, seal('chain 3', 2, 2, { mac: 'new' }), 'mac'), false)
    assert.equal(await one.tables.sealRecord(), '20')
    assert.equal(await count(other, seal('chain 3', 1, 2, { mac: 'new' }), 'mac'), true)
    assert.equal(await one.tables.sealRecord(), '21')
    assert.deepEqual(await one.tables.seals('chain 3'), [seal('chain 3', 1, 2, { mac: 'new' })])
  },

  'a stretch is removed with its seal changed, and no other row': async (open) => {
    const { tables } = await open('one')
    const rows = [1, 2, 3, 4, 5].map((seq) => chainRow('one', seq))
    await tables.write({ ...NOTHING, rows: [...rows, chainRow('other', 2)] })
    for (const each of [seal('one', 1, 2), seal('one', 3, 4), seal('other', 2, 2)]) await put({ tables }, each)
    const ranges = async (before: number) =>
      (await tables.expired(before)).map(({ chain, fromSeq }) => `${chain} ${fromSeq}`).toSorted()
    assert.deepEqual(await ranges(1_002), [])
    assert.deepEqual(await ranges(1_003), ['one 1', 'other 2'])
    const gone = seal('one', 1, 2, { expiredAt: 9_000, mac: 'another mac' })
    assert.equal(await tables.removeStretch(gone, 'yet another mac'), 0)
    assert.equal((await tables.stretch('one', 1, 10)).length, 5)
    assert.equal(await tables.removeStretch(gone, 'mac'), 2)
    assert.deepEqual(await tables.seals('one'), [gone, seal('one', 3, 4)])
    assert.deepEqual(await tables.stretch('one', 1, 10), rows.slice(2))
    assert.equal((await tables.stretch('other', 1, 10)).length, 1)
    assert.deepEqual(await ranges(1_003), ['other 2'])
    assert.equal(await tables.removeStretch(gone, 'mac'), 0)
  },

  'a cell takes the place of the one that the same instance wrote': async (open) => {
    const [one, other] = [await open('one'), await open('other')]
    await one.tables.write({ ...NOTHING, cells: [cell(), cell({ tool: 'sub' })] })
    await one.tables.write({ ...NOTHING, cells: [cell({ data: Uint8Array.of(2) })] })
    await other.tables.write({ ...NOTHING, cells: [cell({ data: Uint8Array.of(3) })] })
    const expected = [cell({ data: Uint8Array.of(2) }), cell({ tool: 'sub' }), cell({ data: Uint8Array.of(3) })]
    assert.deepEqual(plain(await other.tables.cells(CALLS)), plain(expected))
  },

  'cells are picked by all that names them': async (open) => {
    const { tables } = await open('one')
    const all = [
      cell(),
      cell({ tool: '' }),
      cell({ model: 'mini:one' }),
      cell({ start: 7_200_000 }),
      cell({ width: 'minute' }),
      cell({ kind: 'run', tool: '', model: 'mini:one' }),
      cell({ tenant: 'other' }),
      cell({ tenant: '*' }),
    ]
    await tables.write({ ...NOTHING, cells: all })
    const picked = async (more: object) => plain(await tables.cells({ ...CALLS, ...more }))
    const calls = [0, 1, 2, 3].map((index) => all[index] as Cell)
    assert.deepEqual(await picked({}), plain(calls))
    assert.deepEqual(await picked({ tool: 'add' }), plain(calls.filter(({ tool }) => tool === 'add')))
    assert.deepEqual(await picked({ tool: '' }), plain([cell({ tool: '' })]))
    assert.deepEqual(await picked({ from: 3_600_001 }), plain([cell({ start: 7_200_000 })]))
    assert.deepEqual(await picked({ from: 3_600_000 }), plain(calls))
    assert.deepEqual(await picked({ from: 3_600_001, to: 7_200_000 }), [])
    assert.deepEqual(await picked({ from: 3_600_001, to: 7_200_001 }), plain([cell({ start: 7_200_000 })]))
    assert.deepEqual(await picked({ width: 'minute' }), plain([cell({ width: 'minute' })]))
    assert.deepEqual(await picked({ kind: 'run' }), plain([cell({ kind: 'run', tool: '', model: 'mini:one' })]))
    assert.deepEqual(await picked({ tenant: '*' }), plain([cell({ tenant: '*' })]))
  },

  'removes older cells of all instances': async (open) => {
    const [one, other] = [await open('one'), await open('other')]
    await one.tables.write({ ...NOTHING, cells: [cell(), cell({ start: 7_200_000 }), cell({ width: 'minute' })] })
    await other.tables.write({
      ...NOTHING,
      cells: [cell()],
      runs: [run, { ...run, id: 'later', started_at: new Date(2_000).toISOString() }],
    })
    assert.equal(await other.tables.removeCells('hour', 3_600_000, ['call']), 0)
    assert.equal(await other.tables.removeCells('hour', 3_600_001, ['run', 'set']), 0)
    assert.equal(await other.tables.removeCells('hour', 3_600_001, ['call', 'set']), 2)
    assert.deepEqual(plain(await one.tables.cells(CALLS)), plain([cell({ start: 7_200_000 })]))
    assert.equal(await one.tables.removeRuns(1_000), 0)
    assert.equal(await one.tables.removeRuns(1_001), 1)
    assert.equal(await one.runs.get('acme', 'run'), undefined)
    assert.equal((await one.runs.get('acme', 'later'))?.id, 'later')
  },
}

/** What the ledger relies on in the tables of an engine. */
export function ledgerTablesContract(open: (options: OpenOptions) => Promise<Engine>): ContractCase[] {
  return Object.entries(clauses).map(([name, clause]) => ({
    name,
    async run() {
      const store = randomUUID()
      const opened: Engine[] = []
      try {
        await clause(async (instance, aliveMs) => {
          const engine = await open({ store, instance, ...(aliveMs !== undefined && { aliveMs }) })
          opened.push(engine)
          return engine
        })
      } finally {
        for (const engine of opened) await engine.close()
      }
    },
  }))
}
