import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

/** A PostgreSQL that has pgvector, in this process. It takes one connection at a time. */
export interface TestPgvector {
  readonly url: string
  stop(): Promise<void>
}

/** Starts one in memory, on loopback. */
export async function startPgvector(): Promise<TestPgvector> {
  const db = await PGlite.create({ extensions: { vector } })
  // The second one may come before the server has noticed the end of the first.
  const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 2 })
  await server.start()
  return {
    url: `postgres://postgres:postgres@${server.getServerConn()}/postgres`,
    async stop() {
      await server.stop()
      await db.close()
    },
  }
}
