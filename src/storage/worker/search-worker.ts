import type { StorageOptions } from '../sql/engine.ts'
import { SqliteDatabase } from '../sqlite/sqlite-database.ts'
import { SqliteSearch } from '../sqlite/sqlite-search.ts'
import { type Served, serveStorage } from './serve-storage.ts'

await serveStorage(hostSearch)

/** Searches in the embedded store, over their own connection. */
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
