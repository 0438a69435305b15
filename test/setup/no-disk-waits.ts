import { DatabaseSync } from 'node:sqlite'

// The stores of the tests don't outlive the machine, so nothing waits for the disk. It is the same for PostgreSQL: see
// start-postgres.ts. A test that needs a store as users have it sets TOOLYARD_TEST_DURABLE.
const PATCHED = Symbol.for('toolyard.test.no-disk-waits')

const { exec } = DatabaseSync.prototype

function execWithoutWaiting(this: DatabaseSync, sql: string): void {
  const durable = process.env.TOOLYARD_TEST_DURABLE !== undefined
  exec.call(this, durable ? sql : sql.replace('PRAGMA synchronous = FULL', 'PRAGMA synchronous = OFF'))
}

// This file is loaded again for each test file of a worker.
if (!Object.hasOwn(DatabaseSync.prototype, PATCHED)) {
  DatabaseSync.prototype.exec = execWithoutWaiting
  Object.defineProperty(DatabaseSync.prototype, PATCHED, { value: true })
}
