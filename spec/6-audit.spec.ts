import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hurriedClock, withServer } from './fixtures/server.ts'
import { mock } from './fixtures/tool-manager.ts'

describe('Audit', () => {
  test('[6.3-1] records tenant, tool, params_hash, outcome, error code and time', async () => {
    const { ask, execute, installation, folder } = await withServer([mock('get_weather')])
    const before = Date.now()
    await execute('get_weather', { b: 1, a: 'short' })
    await execute('get_weather', 'no object')
    await execute('nowhere')
    installation.manager.getExecutor().flush()
    await installation.sink.flush()
    const { rows } = (await ask('/audit')).body
    expect(rows).toMatchObject([
      { tenant: 'acme', tool: 'nowhere', outcome: 'failure', error_code: 'TOOL_NOT_FOUND' },
      { tenant: 'acme', tool: 'get_weather', outcome: 'failure', error_code: 'INVALID_PARAMETERS', params_hash: null },
      { tenant: 'acme', tool: 'get_weather', outcome: 'success', error_code: null, source: 'rest', attempts: 1 },
    ])
    expect(Date.parse(rows[2].time)).toBeGreaterThanOrEqual(before - 1_000)
    // Keyed with the installation's own key, over the canonical form; the parameters themselves are nowhere.
    const key = (await readFile(join(folder, 'audit.key'), 'utf8')).trim()
    expect(rows[2].params_hash).toBe(createHmac('sha256', key).update('{"a":"short","b":1}').digest('hex'))
    const file = await readFile(join(folder, 'toolyard.db'))
    const log = await readFile(join(folder, 'toolyard.db-wal')).catch(() => Buffer.alloc(0))
    expect(Buffer.concat([file, log]).includes('"short"')).toBe(false)
  })

  test('[6.3-2] deletes records after 7 days', async () => {
    const { execute, installation } = await withServer([mock('get_weather')])
    await execute('get_weather')
    installation.manager.getExecutor().flush()
    await installation.sink.flush()
    const { ledger } = installation.storage
    const rows = async () => (await ledger.audit({ tenant: 'acme', limit: 10 })).rows.length
    const day = 24 * 60 * 60_000
    await ledger.expire(Date.now() + 6.9 * day)
    expect(await rows()).toBe(1)
    await ledger.expire(Date.now() + 7.1 * day)
    // What is not sealed yet stays until its hour is over: nothing may go unnoticed.
    const { unsealed, expired } = await ledger.verify()
    expect((await rows()) === unsealed && unsealed + expired === 1).toBe(true)
  })

  test('[6.3-3] reports a failing audit store and fails no call', async () => {
    // Closing waits 5 s for a store that may come back.
    const { execute, installation, log } = await withServer([mock('get_weather')], {}, { clock: hurriedClock })
    await execute('get_weather')
    await installation.storage.close()
    for (const _ of [1, 2, 3]) expect((await execute('get_weather')).status).toBe(200)
    await expect
      .poll(() => log.lines.filter(({ level }) => level === 'error' || level === 'warn').length)
      .toBeGreaterThan(0)
  })
})
