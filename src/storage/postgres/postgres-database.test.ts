import { expect, test } from 'vitest'
import { ConnectionLost, postgresError } from './postgres-database.ts'

const fromServer = (code: string) =>
  Object.assign(new Error('duplicate key (email)=(ada@example.com) at 10.0.0.7'), { code, severity: 'ERROR' })
const fromDriver = (code?: string) =>
  Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432'), code === undefined ? {} : { code })

test.each([
  [fromServer('23505'), 'INVALID_PARAMETERS', 'The store already has an entry with that name'],
  [fromServer('57014'), 'SERVICE_UNAVAILABLE', 'The database took too long (SQLSTATE 57014)'],
  [fromServer('53300'), 'SERVICE_UNAVAILABLE', 'run out of connections, memory or disk space (SQLSTATE 53300)'],
  [fromServer('42501'), 'SERVICE_UNAVAILABLE', 'lacks privileges that Toolyard needs (SQLSTATE 42501)'],
  [fromServer('42P01'), 'SERVICE_UNAVAILABLE', 'The database refused a statement (SQLSTATE 42P01)'],
  [fromDriver('ENOTFOUND'), 'SERVICE_UNAVAILABLE', 'the host in TOOLYARD_DATABASE_URL is unknown'],
  [fromDriver('DEPTH_ZERO_SELF_SIGNED_CERT'), 'SERVICE_UNAVAILABLE', 'reached: DEPTH_ZERO_SELF_SIGNED_CERT'],
  [fromDriver(), 'SERVICE_UNAVAILABLE', 'the connection was lost, or no answer came in time'],
  [undefined, 'SERVICE_UNAVAILABLE', 'The database cannot be reached'],
])('an error is a sentence that may be shown: %#', (error, code, sentence) => {
  const shown = postgresError(error)
  expect(shown).toMatchObject({ code, message: expect.stringContaining(sentence) })
  expect(shown.cause).toBeUndefined()
  expect(shown.message).not.toMatch(/10\.0\.0\.7|ada@/)
})

test('a connection is of no more use when the driver gave it up, or the server is going away', () => {
  expect(postgresError(fromDriver())).toBeInstanceOf(ConnectionLost)
  expect(postgresError(fromServer('57P01'))).toBeInstanceOf(ConnectionLost)
  expect(postgresError(fromServer('23505'))).not.toBeInstanceOf(ConnectionLost)
  expect(postgresError(fromServer('57014'))).not.toBeInstanceOf(ConnectionLost)
})
