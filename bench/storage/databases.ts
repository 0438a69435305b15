import { Client } from 'pg'
import { startPostgres } from '../../test/setup/start-postgres.ts'

/** A PostgreSQL server of its own, as it is when nobody has tuned it, with a fresh database for whoever asks. */
export async function openDatabases() {
  const server = await startPostgres({ durable: true })
  let made = 0
  return {
    /** The address of an empty database. */
    async next(): Promise<string> {
      const name = `bench_${++made}`
      const client = new Client(server.url)
      await client.connect()
      await client.query(['CREATE DATABASE', client.escapeIdentifier(name)].join(' '))
      await client.end()
      return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
    },
    close: () => server.stop(),
  }
}
