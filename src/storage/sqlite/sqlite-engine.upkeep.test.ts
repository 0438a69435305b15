import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { chainRow } from '../fixtures/audit-rows.ts'
import { call } from '../fixtures/call-entry.ts'
import type { Engine } from '../sql/engine.ts'
import { migrate } from './migrations.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { sqliteEngine } from './sqlite-engine.ts'

const DAY = 86_400_000

let folder: string
let database: SqliteDatabase
let engine: Engine
let clock: ManualClock
let log: ReturnType<typeof captureLog>

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  folder = mkdtempSync(join(tmpdir(), 'sqlite-upkeep-'))
  database = new SqliteDatabase(folder, 1)
  migrate(database)
  clock = new ManualClock()
  log = captureLog()
  engine = sqliteEngine(database, { folder, instance: 'one', keepDays: 7 }, { log, clock })
})

afterEach(async () => {
  await engine.close()
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})

/** Lets time pass, on the clock and for what is done every so often; of days the last minute is enough. */
function pass(ms: number): void {
  clock.advance(ms)
  vi.advanceTimersByTime(Math.min(ms, 60_000))
}

const seenAt = () => database.all<{ instance: string; seen_at: number }>('SELECT * FROM instances ORDER BY instance')
const count = (sql: string) => database.get<{ count: number }>(sql)?.count

describe('an instance', () => {
  it('shows itself every two seconds, and no more once it is closed', async () => {
    const start = clock.wall()
    expect(seenAt()).toEqual([{ instance: 'one', seen_at: start }])
    pass(2_000)
    expect(seenAt()).toEqual([{ instance: 'one', seen_at: start + 2_000 }])
    const other = new SqliteDatabase(folder)
    await engine.close()
    expect(other.all('SELECT * FROM instances')).toEqual([])
    other.close()
  })

  it('shows itself within a transaction, too', () => {
    clock.advance(60_000)
    database.write(() => {
      database.write(() => database.run('DELETE FROM instances'))
      pass(2_000)
    })
    expect(seenAt()).toEqual([{ instance: 'one', seen_at: clock.wall() }])
  })

  it('never takes itself for dead, however long it was held up', async () => {
    const claim = { tenant: 't', caller: 'c', key: 'k', fingerprint: 'f', expiresAt: clock.wall() + DAY }
    await engine.once.claim(claim)
    clock.advance(60_000)
    expect(await engine.once.claim(claim)).toEqual({ state: 'running' })
  })

  it('is dead to others after ten seconds, and forgotten after a day', async () => {
    database.run('INSERT INTO instances VALUES (?, ?)', 'gone', clock.wall())
    const claim = { tenant: 't', caller: 'c', key: 'k', fingerprint: 'f', expiresAt: clock.wall() + 2 * DAY }
    await engine.once.claim(claim)
    database.run('UPDATE once SET instance = ?', 'gone')
    pass(10_000)
    expect(await engine.once.claim(claim)).toEqual({ state: 'running' })
    pass(1)
    expect(await engine.once.claim(claim)).toEqual({ state: 'lost' })
    expect(seenAt().length).toBe(2)
    pass(DAY)
    expect(seenAt().map(({ instance }) => instance)).toEqual(['one'])
    expect(await engine.once.claim(claim)).toEqual({ state: 'lost' })
  })

  it('says once that it cannot show itself, and again only after it could', () => {
    const other = new SqliteDatabase(folder)
    const block = () => {
      other.exec('BEGIN IMMEDIATE')
      pass(2_000)
      pass(2_000)
      other.exec('ROLLBACK')
      pass(2_000)
    }
    block()
    const message = 'The store cannot be written: other servers may consider this one dead'
    expect(log.lines.filter((line) => line.message === message).length).toBe(1)
    block()
    expect(log.lines.filter((line) => line.message === message).length).toBe(2)
    other.close()
  })
})

describe('the sweep', () => {
  const sweep = async (ms: number) => {
    pass(ms)
    await new Promise((resolve) => setImmediate(resolve))
  }

  it('removes approvals a week after they expired, and decided ones a week after they could run', async () => {
    const now = clock.wall()
    const call = { kind: 'approval', tenant: 't', caller: 'c', tool: 'pay', version: '0.0.0', params: {} } as const
    const ids = () => database.all<{ id: string }>('SELECT id FROM pauses ORDER BY id').map(({ id }) => id)
    for (const id of ['decided', 'expired', 'pending']) {
      const expires_at = now + (id === 'pending' ? 9 * DAY : DAY)
      const times = { requested_at: now, expires_at }
      await engine.pauses.ask(
        {
          ...call,
          id,
          params_hash: id,
          run_id: null,
          call_id: null,
          root_key: null,
          root_hash: null,
          subject: null,
          definitions: 'd',
          ...times,
        },
        9,
      )
    }
    const by = { decided_by: 'o', decided_by_name: 'olga', decided_at: now, reason: null, decided_params: null }
    await engine.pauses.decide('t', 'decided', { decision: 'approve', ...by, expires_at: now + 2 * DAY })
    await sweep(8 * DAY)
    expect(ids()).toEqual(['decided', 'expired', 'pending'])
    await sweep(60_000)
    expect(ids()).toEqual(['decided', 'pending'])
    await sweep(DAY)
    expect(ids()).toEqual(['pending'])
  })

  it('takes away answers that are past their time, and no others', async () => {
    const claim = { tenant: 't', caller: 'c', fingerprint: 'f' }
    await engine.once.claim({ ...claim, key: 'soon', expiresAt: clock.wall() + 1_000 })
    await engine.once.claim({ ...claim, key: 'later', expiresAt: clock.wall() + DAY })
    await sweep(60_000)
    expect(database.all('SELECT key FROM once')).toEqual([{ key: 'later' }])
  })

  it('removes expired sessions', async () => {
    const session = { caller: 'one', ends_at: clock.wall() + DAY }
    await engine.sessions.start({ ...session, hash: 'soon', expires_at: clock.wall() + 1_000 }, 9)
    await engine.sessions.start({ ...session, hash: 'later', expires_at: clock.wall() + DAY }, 9)
    await sweep(60_000)
    expect(database.all('SELECT hash FROM sessions')).toEqual([{ hash: 'later' }])
  })

  it('removes expired jobs', async () => {
    const now = () => new Date(clock.wall()).toISOString()
    const job = { tenant: 't', caller: null, tool: 'x', params: {}, timeout_ms: 1, created_at: now() }
    const result = { success: true, result: 1, tool_name: 'x', execution_time_ms: 1 } as const
    for (const id of ['ended', 'waiting', 'ended later']) await engine.jobs.create({ ...job, id })
    await engine.jobs.end('ended', 'done', result, now())
    await sweep(DAY)
    await engine.jobs.end('ended later', 'done', result, now())
    await sweep(6 * DAY + 60_000)
    expect(database.all('SELECT id FROM jobs ORDER BY id')).toEqual([{ id: 'ended later' }, { id: 'waiting' }])
  })

  it('removes durable runs a day after they ended, and their bytes', async () => {
    const at = clock.wall()
    const run = { tenant: 't', caller: 'c', model: 'm', fingerprint: '', request: 'é', created_at: at }
    for (const id of ['ended', 'waits']) {
      await engine.durableRuns.create({ ...run, id })
      await engine.durableRuns.append(id, 1, [{ kind: 'answer', data: 'data', shown: '[]' }], at)
    }
    await engine.durableRuns.end('ended', 1, { status: 'finished', answer: null, at })
    expect(database.all('SELECT * FROM job_bytes')).toEqual([{ tenant: 't', bytes: 16 }])
    await sweep(DAY + 60_000)
    expect(database.all('SELECT run_id FROM run_steps')).toEqual([{ run_id: 'waits' }])
    expect(database.all('SELECT * FROM job_bytes')).toEqual([{ tenant: 't', bytes: 8 }])
  })

  it('removes expired turns of chats, and their bytes', async () => {
    const key = { tenant: 't', caller: 'c', chat: 'chat' }
    await engine.chats.add(key, { messageId: 'old', messages: '"old"' })
    await sweep(DAY)
    await engine.chats.add(key, { messageId: 'new', messages: '"new one"' })
    await sweep(6 * DAY + 60_000)
    expect(await engine.chats.turns(key)).toEqual([{ messageId: 'new', messages: '"new one"' }])
    expect(database.all('SELECT bytes FROM job_bytes')).toEqual([{ bytes: 9 }])
  })

  it('removes payloads after seven days, and their bytes', async () => {
    const write = (seq: number, content: string) => {
      const at = clock.wall()
      const rows = [chainRow({ tenant: 't', seq, at })]
      return engine.tables.write({
        rows,
        runs: [],
        cells: [],
        calls: [call({ payload: { content, storageBytes: 99 } })],
      })
    }
    await write(1, '"old"')
    await sweep(DAY)
    await write(2, '"new one"')
    await sweep(6 * DAY + 60_000)
    expect(database.all('SELECT seq, content FROM payloads')).toEqual([{ seq: 2, content: '"new one"' }])
    expect(database.all('SELECT bytes FROM job_bytes')).toEqual([{ bytes: 9 }])
  })

  it('takes away a bounded number at a time', async () => {
    database.write(() => {
      for (let index = 0; index < 5_100; index++) {
        database.run("INSERT INTO once VALUES ('t', 'c', ?, 'f', 'one', 0, NULL, NULL)", `${index}`)
      }
    })
    await sweep(60_000)
    expect(count('SELECT count(*) AS count FROM once')).toBe(100)
    await sweep(60_000)
    expect(count('SELECT count(*) AS count FROM once')).toBe(0)
  })

  it('does not affect anything else when it fails', async () => {
    database.exec('DROP TABLE once')
    await sweep(60_000)
    expect(log.at('warn').length).toBe(1)
    expect((await engine.status()).ready).toBe(true)
  })
})

describe('changes', () => {
  it('own ones are announced before the write is acknowledged', async () => {
    const heard: string[] = []
    engine.onChange((change) => heard.push(change))
    const written = engine.settings.put({ kind: 'pin', name: 'a', value: 1 })
    expect(heard).toEqual(['settings'])
    await written
    pass(1_000)
    expect(heard).toEqual(['settings'])
  })

  it('those of other processes are announced within half a second, once each', async () => {
    const other = new SqliteDatabase(folder)
    const second = sqliteEngine(other, { folder, instance: 'two', keepDays: 7 }, { log, clock })
    const heard: string[] = []
    engine.onChange((change) => heard.push(change))
    await second.settings.put({ kind: 'pin', name: 'a', value: 1 })
    await second.settings.put({ kind: 'pin', name: 'b', value: 1 })
    await second.validations.replace('t', [])
    expect(heard).toEqual([])
    pass(500)
    expect(heard.toSorted()).toEqual(['settings', 'validations'])
    pass(500)
    expect(heard.length).toBe(2)
    await second.close()
  })

  it('that were made before it was opened are none', async () => {
    await engine.settings.put({ kind: 'pin', name: 'a', value: 1 })
    const other = new SqliteDatabase(folder)
    const second = sqliteEngine(other, { folder, instance: 'two', keepDays: 7 }, { log, clock })
    const heard: string[] = []
    second.onChange((change) => heard.push(change))
    await engine.status()
    pass(500)
    expect(heard).toEqual([])
    await second.close()
  })
})
