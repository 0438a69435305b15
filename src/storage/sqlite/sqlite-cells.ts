import type { SQLInputValue } from 'node:sqlite'
import type { Cell, LedgerTables } from '../ledger/ledger-tables.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

/** Figures by minute and hour. */
export class SqliteCells {
  readonly #database: SqliteDatabase
  readonly #instance: string

  constructor(database: SqliteDatabase, instance: string) {
    this.#database = database
    this.#instance = instance
  }

  put(cell: Cell): void {
    this.#database
      .statement(
        `INSERT INTO cells (width, kind, tenant, start, tool, model, instance, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (width, kind, tenant, start, tool, model, instance) DO UPDATE SET data = excluded.data`,
      )
      .run(cell.width, cell.kind, cell.tenant, cell.start, cell.tool, cell.model, this.#instance, cell.data)
  }

  list({ tenant, kind, width, from, to, tool }: Parameters<LedgerTables['cells']>[0]): readonly Cell[] {
    const sql = ['SELECT width, start, tenant, kind, tool, model, data FROM cells WHERE width = ? AND kind = ?']
    const values: SQLInputValue[] = [width, kind]
    if (tenant === undefined) sql.push("AND tenant <> '*'")
    else {
      sql.push('AND tenant = ?')
      values.push(tenant)
    }
    sql.push('AND start >= ? AND start < ?')
    values.push(from, to ?? Number.MAX_SAFE_INTEGER)
    if (tool !== undefined) {
      sql.push('AND tool = ?')
      values.push(tool)
    }
    return this.#database.all<Cell>(sql.join(' '), ...values)
  }

  remove(width: Cell['width'], before: number): number {
    return this.#database.run('DELETE FROM cells WHERE width = ? AND start < ?', width, before)
  }
}
