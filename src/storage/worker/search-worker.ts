import type { StorageOptions } from '../engine.ts'
import { SqliteSearch } from '../sqlite/knowledge/sqlite-search.ts'
import { SqliteDatabase } from '../sqlite/sqlite-database.ts'
import { type Served, serveStorage } from './serve-storage.ts'

await serveStorage(hostSearch)

/** The part of the embedded store that only reads and may take long, over a connection of its own. */
async function hostSearch({ folder }: StorageOptions): Promise<Served> {
  const database = new SqliteDatabase(folder)
  database.exec('PRAGMA query_only = ON')
  const search = new SqliteSearch(database)
  return {
    knowledge: {
      byText: async (query) => search.byText(query),
      byVector: async (query) => search.byVector(query),
    },
    onChange: () => () => {},
    status: async () => ({ engine: 'sqlite', ready: true, vectors: database.vectors }),
    close: async () => database.close(),
  }
}
