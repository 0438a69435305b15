import { BUDGET_PERIODS, type BudgetScope, type Counter, periodOf } from '../../core/costs.ts'
import type { CallEntry, TurnEntry } from '../../core/storage/ledger.ts'
import type {
  HoldAnswer,
  HoldRequest,
  SpendingQuery,
  SpendingReport,
  SpendingStore,
  SpendingSums,
} from '../../core/storage/spending-store.ts'
import { ask, DAY_MS, type Database, type Expiry, type StoreEntry, SWEEP_LIMIT, Where, type Work } from './database.ts'
import { columnTypes, type Table } from './table.ts'

const COUNTER = { tenant: 'id', scope: 'text', name: 'id', per: 'text', start: 'ms' } as const

/** What was spent, by day and month. */
const spendingTable: Table = {
  name: 'spending',
  since: 15,
  columns: { ...COUNTER, spent: 'bigint', calls: 'bigint', unknown: 'bigint' },
  key: 'tenant, scope, name, per, start',
  indexes: { spending_by_start: 'start' },
}

/** What servers have set aside of budgets, one row for each call: a call gives back exactly what it has set aside. */
const holdTable: Table = {
  name: 'budget_holds',
  since: 17,
  columns: { ...COUNTER, id: 'id', instance: 'id', held: 'bigint' },
  key: 'tenant, scope, name, per, start, id',
  indexes: { budget_holds_by_id: 'id' },
  copied: false,
  // Version 15 had one row for each server.
  steps: { 17: { before: 'DROP TABLE IF EXISTS toolyard.budget_holds' } },
}

const turnTable: Table = {
  name: 'last_turns',
  since: 15,
  columns: { instance: 'id', turn: 'bigint' },
  key: 'instance',
  copied: false,
}

const SPENDING_COLUMNS = columnTypes(spendingTable)
const HOLD_COLUMNS = columnTypes(holdTable)
/** Sums end here: JavaScript can't count much further. */
const MAX_MICROS = 9_000_000_000_000_000
const upToMax = (sum: string): string => `CASE WHEN ${sum} > ${MAX_MICROS} THEN ${MAX_MICROS} ELSE ${sum} END`
/** Exact up to the maximum, and has no overflow. */
const sumOf = (column: string): string =>
  `CAST(${upToMax(`coalesce(sum(CAST(${column} AS double precision)), 0)`)} AS bigint)`
const ADD_SPENDING = `
  ON CONFLICT (tenant, scope, name, per, start) DO UPDATE SET spent = ${upToMax('spending.spent + excluded.spent')},
    calls = spending.calls + excluded.calls, unknown = spending.unknown + excluded.unknown`
const HOLDS = 'toolyard.budget_holds'
const OF_COUNTER = 'tenant = ? AND scope = ? AND name = ? AND per = ? AND start = ?'
const SUMS = `${sumOf('spent')} AS spent, CAST(coalesce(sum(calls), 0) AS bigint) AS calls,
  CAST(coalesce(sum(unknown), 0) AS bigint) AS unknown`
const RUN_SUMS = `CAST(${upToMax('coalesce(round(sum(cost) * 1000000), 0)')} AS bigint) AS spent, count(*) AS calls,
  count(*) - count(cost) AS unknown`
const SWEEP = `
  DELETE FROM toolyard.spending WHERE (tenant, scope, name, per, start) IN (
    SELECT tenant, scope, name, per, start FROM toolyard.spending WHERE start < ? LIMIT ?)`
const LAST_TURN = 'SELECT turn FROM toolyard.last_turns WHERE instance = ?'
const SET_LAST_TURN = `
  INSERT INTO toolyard.last_turns (instance, turn) VALUES (?, ?)
  ON CONFLICT (instance) DO UPDATE SET turn = excluded.turn`
/** Counters are stored for this many months. */
const KEPT_MONTHS = 13

/** A change of one counter. */
interface Change extends Counter {
  spent: number
  calls: number
  unknown: number
}

const valuesOf = ({ tenant, scope, name, per, start }: Counter) => [tenant, scope, name, per, start] as const
const keyOf = (counter: Counter): string => JSON.stringify(valuesOf(counter))
/** Several budgets may have the same counter. */
const distinct = (counters: readonly Counter[]): Iterable<Counter> =>
  new Map(counters.map((counter) => [keyOf(counter), counter])).values()

/** Changes by counter, in a fixed order: transactions that lock several rows must not wait for each other. */
class Changes {
  readonly #changes = new Map<string, Change>()

  of(counter: Counter): Change {
    const key = keyOf(counter)
    const known = this.#changes.get(key)
    if (known !== undefined) return known
    const { tenant, scope, name, per, start } = counter
    const change = { tenant, scope, name, per, start, spent: 0, calls: 0, unknown: 0 }
    this.#changes.set(key, change)
    return change
  }

  sorted(): Change[] {
    return [...this.#changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change)
  }
}

/** A wrong number would stop the audit log, or lower the sum. */
const isAmount = (cost: unknown): cost is number => Number.isSafeInteger(cost) && (cost as number) >= 0

/** Calls of one tenant, key and tool, or turns of one model, on one day of UTC. */
interface Group {
  readonly at: number
  readonly tenant: string
  readonly key: string | null | undefined
  readonly scope: BudgetScope
  readonly name: string
  spent: number
  calls: number
  unknown: number
}

/** Many calls are alike, so they are grouped before their counters are looked up. */
class Groups {
  readonly #groups = new Map<string, Group>()

  add(entry: CallEntry | TurnEntry, scope: 'tool' | 'model', name: string): void {
    const { at, tenant, keyId: key } = entry
    const id = `${Math.floor(at / DAY_MS)}\0${tenant}\0${key ?? ''}\0${scope}\0${name}`
    let group = this.#groups.get(id)
    if (group === undefined) {
      group = { at, tenant, key, scope, name, spent: 0, calls: 0, unknown: 0 }
      this.#groups.set(id, group)
    }
    group.calls++
    if (!isAmount(entry.cost)) group.unknown++
    // A call whose cost is unknown spends what it has set aside: callers that leave early must not spend without limit.
    const likely = 'estimate' in entry ? entry.estimate : scope === 'tool' ? entry.hold?.micros : undefined
    const spent = isAmount(entry.cost) ? entry.cost : likely
    if (isAmount(spent)) group.spent += spent
  }

  /** Adds each group to the counters of its tenant, key, and tool or model. */
  addTo(changes: Changes): void {
    for (const { at, tenant, key, scope, name, spent, calls, unknown } of this.#groups.values()) {
      const names: readonly (readonly [BudgetScope, string])[] = [
        ['tenant', tenant],
        ...(key === null || key === undefined ? [] : [['key', key] as const]),
        [scope, name],
      ]
      for (const per of BUDGET_PERIODS) {
        const { start } = periodOf(per, at)
        for (const [one, named] of names) {
          const change = changes.of({ tenant, scope: one, name: named, per, start })
          change.spent += spent
          change.calls += calls
          change.unknown += unknown
        }
      }
    }
  }
}

/** Refused calls and cached results cost nothing, and are not counted. */
function changesOf(calls: readonly CallEntry[], turns: readonly TurnEntry[]): Change[] {
  const [changes, groups] = [new Changes(), new Groups()]
  for (const call of calls) if (call.attempts > 0 || call.cost) groups.add(call, 'tool', call.tool)
  for (const turn of turns) groups.add(turn, 'model', turn.model)
  groups.addTo(changes)
  return changes.sorted()
}

/** Adds what calls and turns cost to the counters, as part of the transaction that stores their audit rows. */
export function* addSpending(database: Database, calls: readonly CallEntry[], turns: readonly TurnEntry[]): Work<void> {
  const changes = changesOf(calls, yield* newTurns(database, turns))
  if (changes.length > 0) {
    const rows = changes.map((change) => [
      ...valuesOf(change),
      ...[Math.min(change.spent, MAX_MICROS), change.calls, change.unknown],
    ])
    yield database.insert('toolyard.spending', SPENDING_COLUMNS, rows, ADD_SPENDING)
  }
  const released = [...calls, ...turns].flatMap(({ hold }) => hold?.id ?? [])
  if (released.length > 0) yield database.remove(HOLDS, 'id', released)
}

/** The turns that are not counted yet: without audit rows, only this shows that a batch is written twice. */
function* newTurns(database: Database, turns: readonly TurnEntry[]): Work<readonly TurnEntry[]> {
  const last = turns.at(-1)
  if (last === undefined) return turns
  // The first name of the process: its storage thread may have been restarted.
  const place = [database.names.at(-1), last.turn]
  const { rows } = yield* ask<{ turn: number }>(LAST_TURN, place.slice(0, 1))
  yield* ask(SET_LAST_TURN, place)
  const before = rows[0]?.turn ?? 0
  return turns.filter(({ turn }) => turn > before)
}

/** What was spent, and what servers have set aside. */
class Spending implements SpendingStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  hold(requests: readonly HoldRequest[], released: readonly string[] = []): Promise<readonly HoldAnswer[]> {
    const database = this.#database
    const alive = database.alive('budget_holds.instance')
    const sql = [
      ...['SELECT spent, (SELECT', sumOf('held'), 'FROM toolyard.budget_holds WHERE'],
      ...[OF_COUNTER, 'AND (instance = ? OR', alive.sql, ')) AS held FROM toolyard.spending WHERE', OF_COUNTER],
    ].join(' ')
    const [instance] = database.names
    return database.transaction(function* () {
      const changes = new Changes()
      for (const { counters } of requests) for (const counter of counters) changes.of(counter)
      const known = changes.sorted()
      // Locks the rows: no other server can set something aside before this transaction has ended.
      const empty = known.map((counter) => [...valuesOf(counter), 0, 0, 0])
      if (empty.length > 0) yield database.insert('toolyard.spending', SPENDING_COLUMNS, empty, ADD_SPENDING)
      if (released.length > 0) yield database.remove(HOLDS, 'id', released)
      const spent = new Map<string, number>()
      for (const counter of known) {
        const values = [...valuesOf(counter), instance, ...alive.values, ...valuesOf(counter)]
        const { rows } = yield* ask<{ spent: number; held: number }>(sql, values)
        spent.set(keyOf(counter), (rows[0]?.spent ?? 0) + (rows[0]?.held ?? 0))
      }
      const held: unknown[][] = []
      const answers = requests.map(({ id, counters, micros }): HoldAnswer => {
        const now = counters.map((counter) => spent.get(keyOf(counter)) ?? 0)
        const refusedBy = counters.findIndex(({ refuses, amount }, index) => refuses && (now[index] ?? 0) >= amount)
        if (refusedBy >= 0) return { spent: now, refusedBy }
        for (const counter of distinct(counters)) {
          spent.set(keyOf(counter), (spent.get(keyOf(counter)) ?? 0) + micros)
          if (micros > 0) held.push([...valuesOf(counter), id, instance, Math.min(micros, MAX_MICROS)])
        }
        return { spent: now }
      })
      if (held.length > 0) yield database.insert(HOLDS, HOLD_COLUMNS, held)
      return answers
    })
  }

  async report({ tenant, by, from, to, limit }: SpendingQuery): Promise<SpendingReport> {
    if (by === 'run') return this.#runs({ tenant, from, to, limit })
    const where = new Where().and('scope = ?', by).and("per = 'day'").and('start >= ?', from).and('start < ?', to)
    // What was only asked of a budget has no calls.
    where.and('tenant = ?', tenant).and('calls > 0')
    const read = async <Row>(columns: string, end: string, ...more: readonly unknown[]): Promise<readonly Row[]> => {
      const sql = ['SELECT', columns, SUMS, 'FROM toolyard.spending WHERE', where.sql, end].join(' ')
      return (await this.#database.run<Row>(sql, [...where.values, ...more])).rows
    }
    const [total] = await read<SpendingSums>('', '')
    return {
      total: total as SpendingSums,
      names: await read('name,', 'GROUP BY name ORDER BY spent DESC, calls DESC, name LIMIT ?', limit),
      days: await read('start,', 'GROUP BY start ORDER BY start'),
    }
  }

  /** Runs as they are stored: only as long as runs are. */
  async #runs({ tenant, from, to, limit }: Omit<SpendingQuery, 'by'>): Promise<SpendingReport> {
    const where = new Where().and('started_at >= ?', new Date(from).toISOString())
    where.and('started_at < ?', new Date(to).toISOString()).and('tenant = ?', tenant)
    const read = async <Row>(columns: string, end: string, ...more: readonly unknown[]): Promise<readonly Row[]> => {
      const sql = ['SELECT', columns, RUN_SUMS, 'FROM toolyard.runs WHERE', where.sql, end].join(' ')
      return (await this.#database.run<Row>(sql, [...where.values, ...more])).rows
    }
    const [total] = await read<SpendingSums>('', '')
    const days = await read<SpendingSums & { day: string }>(
      'substr(started_at, 1, 10) AS day,',
      'GROUP BY 1 ORDER BY 1',
    )
    return {
      total: total as SpendingSums,
      names: await read('id AS name,', 'GROUP BY id ORDER BY sum(cost) DESC NULLS LAST, id LIMIT ?', limit),
      days: days.map(({ day, ...sums }) => ({ ...sums, start: Date.parse(day) })),
    }
  }

  async sweep({ now }: Expiry): Promise<void> {
    const date = new Date(now)
    const before = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - KEPT_MONTHS, 1)
    await this.#database.run(SWEEP, [before, SWEEP_LIMIT])
    const alive = this.#database.alive('budget_holds.instance')
    const holds = ['DELETE FROM', HOLDS, 'WHERE NOT', alive.sql].join(' ')
    await this.#database.run(holds, alive.values)
    const writer = this.#database.alive('last_turns.instance')
    await this.#database.run(['DELETE FROM toolyard.last_turns WHERE NOT', writer.sql].join(' '), writer.values)
  }
}

export const spending: StoreEntry<SpendingStore> = {
  tables: [spendingTable, holdTable, turnTable],
  open: (database) => new Spending(database),
}
