import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'

/** What a store takes on the disk; of SQLite without what is not in its file yet. */
export async function bytesOf({ folder, url }: { readonly folder: string; readonly url?: string }): Promise<number> {
  if (url === undefined) return statSync(join(folder, 'toolyard.db')).size
  const client = new Client(url)
  await client.connect()
  const { rows } = await client.query<{ bytes: string }>('SELECT pg_database_size(current_database()) AS bytes')
  await client.end()
  return Number(rows[0]?.bytes)
}
