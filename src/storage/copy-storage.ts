import { createHmac } from 'node:crypto'
import { counted } from '../core/schema/problem-words.ts'
import type { AuditReport } from '../core/storage/ledger.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import { vectorOfBytes } from './knowledge/vector-code.ts'
import { isGenuine } from './ledger/seal.ts'
import { verifyChains } from './ledger/verify-chain.ts'
import { type CopyRow, type CopySide, type CopyTable, copiedRows } from './sql/copy-side.ts'
import { SqlLedgerTables } from './sql/sql-ledger-tables.ts'
import { readAuditKey, writeAuditKey } from './worker/host-storage.ts'

interface CopyOptions {
  /** `postgres://…`, or a data folder. The source is only read. */
  readonly from: string
  readonly to: string
  /** `TOOLYARD_AUDIT_KEY`; without it the key of the source is copied. */
  readonly auditKey?: string | undefined
  /** Continues a copy that was interrupted. */
  readonly resume?: boolean | undefined
  /** Told after each page: how many of all rows are copied, and the table. */
  readonly onProgress?: (rows: number, all: number, table: string) => void
}

interface CopyReport {
  readonly from: string
  readonly to: string
  /** The copied rows of each table. */
  readonly tables: Readonly<Record<string, number>>
  readonly rows: number
  /** The verified audit log of the target. */
  readonly audit: AuditReport
}

/** Copies a whole store into an empty one, in pages, and verifies the audit log there. */
export async function copyStorage(options: CopyOptions): Promise<CopyReport> {
  const source = await openSide(options.from, '--from', false)
  try {
    const target = await openSide(options.to, '--to', true)
    try {
      return await new StorageCopy(source, target, options).run()
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

const isUrl = (place: string): boolean => /^postgres(ql)?:/.test(place)

async function openSide(place: string, option: string, create: boolean): Promise<CopySide> {
  try {
    if (!isUrl(place)) return await (await import('./sqlite/sqlite-copy.ts')).openSqliteSide(place, create)
    return await (await import('./postgres/postgres-copy.ts')).openPostgresSide(place, create)
  } catch (error) {
    if (!(error instanceof ToolExecutionError)) throw error
    throw refused(error.message.replaceAll('TOOLYARD_DATABASE_URL', option))
  }
}

const refused = (message: string): ToolExecutionError => new ToolExecutionError('SERVICE_UNAVAILABLE', message)

/** Counting the rows of a large table takes long. */
const COUNT_MS = 600_000
const PAGE_ROWS = 500
const LARGE_PAGE_ROWS = 20
/** These refer to each other, in this order. */
const KNOWLEDGE = ['knowledge_collections', 'knowledge_versions', 'knowledge_parts', 'knowledge_chunks']

const JOBS = "SELECT count(*) AS count FROM toolyard.jobs WHERE state IN ('queued', 'running')"
const MARK = "INSERT INTO toolyard.settings (kind, name, value) VALUES ('copy', 'source', ?)"
const MARKED = "SELECT value FROM toolyard.settings WHERE kind = 'copy' AND name = 'source'"
const UNMARK = "DELETE FROM toolyard.settings WHERE kind = 'copy'"
const STORED_KEY = "SELECT value FROM toolyard.settings WHERE kind = 'secret' AND name = 'audit_key'"
const STORE_KEY = `
  INSERT INTO toolyard.settings (kind, name, value) VALUES ('secret', 'audit_key', ?)
  ON CONFLICT (kind, name) DO NOTHING`
const VECTORS = 'SELECT count(*) AS count FROM toolyard.knowledge_vectors'

class StorageCopy {
  readonly #source: CopySide
  readonly #target: CopySide
  readonly #options: CopyOptions
  /** Answers with an idempotency key that expire later are copied. */
  readonly #now = Date.now()
  readonly #tables: readonly string[]

  constructor(source: CopySide, target: CopySide, options: CopyOptions) {
    this.#source = source
    this.#target = target
    this.#options = options
    const others = [...source.tables.keys()].filter((table) => !KNOWLEDGE.includes(table)).sort()
    this.#tables = [...others, ...KNOWLEDGE]
  }

  async run(): Promise<CopyReport> {
    const [source, target] = [this.#source, this.#target]
    if (source.place === target.place) throw refused(`Source and target are the same store: ${source.place}`)
    this.#checkColumns()
    await this.#checkIdle()
    await this.#checkJobs()
    await this.#checkVectors()
    const key = await this.#auditKey()
    await this.#begin(key)
    const tables = await this.#copyAll()
    await target.finish()
    await this.#checkIdle()
    await this.#checkCounts(tables)
    const audit = await this.#verify(key)
    await target.database.run(UNMARK)
    const rows = Object.values(tables).reduce((sum, count) => sum + count, 0)
    return { from: source.place, to: target.place, tables, rows, audit }
  }

  /** Both engines have the same tables in the same version. */
  #checkColumns(): void {
    const shape = ({ tables }: CopySide): string[] =>
      [...tables].map(([table, { columns }]) => `${table} (${Object.keys(columns).sort().join(', ')})`).sort()
    const [source, target] = [shape(this.#source), shape(this.#target)]
    const odd = source.find((table) => !target.includes(table)) ?? target.find((table) => !source.includes(table))
    if (odd !== undefined) throw refused(`Only one of the two stores has the table ${odd}`)
  }

  async #checkIdle(): Promise<void> {
    for (const [side, { place, database }] of Object.entries({ source: this.#source, target: this.#target })) {
      const alive = database.alive('i.instance')
      const sql = ['SELECT count(*) AS count FROM toolyard.instances AS i WHERE', alive.sql].join(' ')
      if ((await count(database.run(sql, alive.values))) === 0) continue
      throw refused(
        `A server or another command uses the ${side}, ${place}: stop it. A server that was killed counts as stopped ` +
          'after 10 seconds. If it started during the copy, use an empty target.',
      )
    }
  }

  async #checkJobs(): Promise<void> {
    const jobs = await count(this.#source.database.run(JOBS))
    if (jobs === 0) return
    throw refused(
      `The source has ${counted(jobs, 'job')} that did not end: start a server on it, and wait for them or cancel them`,
    )
  }

  async #checkVectors(): Promise<void> {
    if (this.#target.vectors || !this.#source.vectors) return
    const { sql, values } = copiedRows(this.#source, 'knowledge_chunks', this.#now)
    const select = ['SELECT count(*) AS count', sql, 'AND t.id IN (SELECT chunk FROM toolyard.knowledge_vectors)'].join(
      ' ',
    )
    if ((await count(this.#source.database.run(select, values, COUNT_MS))) === 0) return
    throw refused('The source has vectors, and the target cannot store them: install pgvector in its database')
  }

  /** The key of both stores. The seals of the source must have been made with it. */
  async #auditKey(): Promise<string> {
    const given = this.#options.auditKey
    const key = given ?? (await storedKey(this.#source))
    if (key === undefined) {
      throw refused('The source has no audit key: set TOOLYARD_AUDIT_KEY to the key that its servers use')
    }
    if (!(await sealedWith(this.#source, key))) {
      const how =
        given === undefined ? 'set TOOLYARD_AUDIT_KEY to that key' : 'set TOOLYARD_AUDIT_KEY to that key, or unset it'
      throw refused(`The audit log of the source was sealed with another key than its servers would use now: ${how}`)
    }
    if (given === undefined && ((await storedKey(this.#target)) ?? key) !== key) {
      const where = this.#target.folder === undefined ? 'the setting audit_key' : 'the file audit.key'
      throw refused(
        `The target has another audit key than the source, so its servers could not verify the copied audit log: ` +
          `remove ${where} from the target, or use an empty target`,
      )
    }
    return key
  }

  /** Marks the target as incomplete: servers refuse it until the copy is complete. */
  async #begin(key: string): Promise<void> {
    const [source, target] = [this.#source, this.#target]
    const mark = JSON.stringify(createHmac('sha256', key).update(`copy ${source.place}`).digest('hex'))
    if ((await settingOf(source, MARKED)) !== undefined)
      throw refused(`The source, ${source.place}, is an incomplete copy`)
    const marked = await settingOf(target, MARKED)
    if (marked !== undefined && marked !== mark) {
      throw refused(`The target, ${target.place}, is an incomplete copy of another store: use an empty target`)
    }
    if (marked !== undefined && !this.#options.resume) {
      throw refused(`The target, ${target.place}, is an incomplete copy: continue it with --resume`)
    }
    if (marked === undefined) {
      const full: string[] = []
      for (const table of this.#tables) if ((await this.#count(target, table)) > 0) full.push(table)
      if (full.length > 0) {
        throw refused(`The target, ${target.place}, is not empty. It has rows in ${full.join(', ')}.`)
      }
      await target.database.run(MARK, [mark])
    }
    if (this.#options.auditKey !== undefined) return
    if (target.folder === undefined) await target.database.run(STORE_KEY, [JSON.stringify(key)])
    else await writeAuditKey(target.folder, key)
  }

  async #copyAll(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const table of this.#tables) counts[table] = await this.#count(this.#source, table)
    const all = Object.values(counts).reduce((sum, each) => sum + each, 0)
    const copied: Record<string, number> = {}
    let done = 0
    for (const table of this.#tables) {
      copied[table] = 0
      for await (const rows of this.#pages(table)) {
        const vectors = rows.filter(({ vector }) => table === 'knowledge_chunks' && vector !== undefined).length
        await this.#target.write(table, rows)
        copied[table] += rows.length
        if (table === 'knowledge_chunks') copied.knowledge_vectors = (copied.knowledge_vectors ?? 0) + vectors
        done += rows.length
        this.#options.onProgress?.(done, all, table)
      }
    }
    return copied
  }

  async *#pages(table: string): AsyncGenerator<readonly CopyRow[]> {
    const { columns, key, large } = this.#source.tables.get(table) as CopyTable
    const { sql: from, values } = copiedRows(this.#source, table, this.#now)
    const select = [
      'SELECT',
      Object.entries(columns)
        .map(([name, read]) => `${read} AS ${name}`)
        .join(', '),
      from,
    ]
    const names = key.map((name) => `t.${name}`).join(', ')
    const after = ['AND (', names, ') > (', key.map(() => '?').join(', '), ')'].join('')
    const limit = large ? LARGE_PAGE_ROWS : PAGE_ROWS
    let last: CopyRow | undefined
    for (;;) {
      const sql = [...select, ...(last ? [after] : []), 'ORDER BY', names, 'LIMIT', limit].join(' ')
      const place = last ? key.map((name) => (last as CopyRow)[name]) : []
      const { rows } = await this.#source.database.run<CopyRow>(sql, [...values, ...place], COUNT_MS)
      if (rows.length > 0) yield table === 'knowledge_chunks' ? rows.map(withVector) : rows
      if (rows.length < limit) return
      last = rows.at(-1)
    }
  }

  #count(side: CopySide, table: string): Promise<number> {
    const { sql, values } = copiedRows(side, table, this.#now)
    return count(side.database.run(['SELECT count(*) AS count', sql].join(' '), values, COUNT_MS))
  }

  async #checkCounts(copied: Readonly<Record<string, number>>): Promise<void> {
    const { vectors, database } = this.#target
    for (const [table, rows] of Object.entries(copied)) {
      const isVectors = table === 'knowledge_vectors'
      if (isVectors && !vectors) continue
      const there = await (isVectors ? count(database.run(VECTORS)) : this.#count(this.#target, table))
      if (there === rows) continue
      throw refused(
        `The source has ${counted(rows, 'row')} in ${table} and the target has ${there}: the source changed after an ` +
          'interrupted copy. Copy it into an empty target.',
      )
    }
  }

  /** A fault that the source has too does not keep the copy from being complete. */
  async #verify(key: string): Promise<AuditReport> {
    const verify = ({ database }: CopySide) => verifyChains(new SqlLedgerTables(database), key, new Map())
    const report = await verify(this.#target)
    if (report.faults.length === 0) return report
    const { faults } = await verify(this.#source)
    if (JSON.stringify(faults) === JSON.stringify(report.faults)) return report
    throw refused('The audit log of the target is not intact, although that of the source is: use an empty target')
  }
}

const count = async (answer: Promise<{ readonly rows: readonly unknown[] }>): Promise<number> =>
  (await answer).rows.map((row) => (row as { count: number }).count)[0] ?? 0

const settingOf = async ({ database }: CopySide, sql: string): Promise<string | undefined> =>
  (await database.run<{ value: string }>(sql)).rows[0]?.value

async function storedKey(side: CopySide): Promise<string | undefined> {
  if (side.folder !== undefined) return readAuditKey(side.folder)
  const value = await settingOf(side, STORED_KEY)
  return value && JSON.parse(value)
}

/** Whether a chain has a seal of this key, or none has seals. A changed seal is a fault, not another key. */
async function sealedWith({ database }: CopySide, key: string): Promise<boolean> {
  const tables = new SqlLedgerTables(database)
  let found = false
  for (const { chain } of await tables.chains()) {
    const seals = await tables.seals(chain)
    if (seals.some((seal) => isGenuine(key, seal))) return true
    found ||= seals.length > 0
  }
  return !found
}

/** The engines store vectors differently. */
function withVector(row: CopyRow): CopyRow {
  const stored = row.vector as Uint8Array | readonly number[] | null
  if (stored === null) return { ...row, vector: undefined }
  return { ...row, vector: stored instanceof Uint8Array ? vectorOfBytes(stored) : Float32Array.from(stored) }
}
