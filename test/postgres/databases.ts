import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { silentLog } from '../../src/core/log.ts'
import { openPostgresEngine } from '../../src/storage/postgres/postgres-engine.ts'
import type { Engine } from '../../src/storage/sql/engine.ts'
import { sharedService } from '../setup/shared-services.ts'

type Around = Partial<Parameters<typeof openPostgresEngine>[1]>
type Options = Partial<Parameters<typeof openPostgresEngine>[0]>

/** Databases of one test file, in the PostgreSQL that all test files share. */
export interface Databases {
  /** The address of a new, empty database. */
  create(): Promise<string>
  /** Opens an engine on a database, a new one where none is given; `stop` closes it. */
  open(options?: Options, around?: Around): Promise<Engine>
  /** Closes the engines and drops the databases. */
  stop(): Promise<void>
}

export async function startDatabases(): Promise<Databases> {
  const server = await sharedService('postgres')
  const engines = new Set<Engine>()
  const names: string[] = []
  const create = async (): Promise<string> => {
    const name = `test_${randomUUID().replaceAll('-', '')}`
    names.push(name)
    await ask(server, `CREATE DATABASE ${name}`)
    const url = new URL(server)
    url.pathname = name
    return url.href
  }
  return {
    create,
    async open(options = {}, around = {}) {
      const url = options.url ?? (await create())
      // A busy machine may let many transactions on one row wait for long.
      const whole = { folder: '', instance: randomUUID(), keepDays: 7, ...options, url }
      const engine = await openPostgresEngine(whole, { log: silentLog, answerMs: 60_000, ...around })
      engines.add(engine)
      return engine
    },
    async stop() {
      await Promise.allSettled([...engines].map((engine) => engine.close()))
      for (const name of names) await ask(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    },
  }
}

/** Runs one statement on a connection of its own. */
export async function ask<Row = unknown>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

/** Removes everything that servers stored in a database; none of them may use it any more. */
export async function clear(url: string): Promise<void> {
  await ask(
    url,
    `DO $$ DECLARE name text; BEGIN
       FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'toolyard' AND tablename <> 'migrations' LOOP
         EXECUTE format('DELETE FROM toolyard.%I', name);
       END LOOP;
     END $$`,
  )
}
