import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ToolExecutionError } from '../core/tool-result.ts'
import { captureLog } from '../testing/stand-ins.ts'
import { call } from './fixtures/call-entry.ts'
import { openStorage } from './open-storage.ts'
import type { Storage, StorageOptions } from './sql/engine.ts'

const FULL = process.env.TOOLYARD_TEST_FULL === '1'
const root = mkdtempSync(join(tmpdir(), 'open-storage-'))
afterAll(() => rmSync(root, { recursive: true }))

let folder: string
let log: ReturnType<typeof captureLog>
let workers: Worker[]
let opened: Storage[]
const keepWorker = (worker: Worker) => workers.push(worker)

beforeEach(() => {
  folder = mkdtempSync(join(root, 'x-'))
  log = captureLog()
  workers = []
  opened = []
  process.on('worker', keepWorker)
})

afterEach(async () => {
  process.off('worker', keepWorker)
  for (const storage of opened) await storage.close()
})

async function open(more: Partial<StorageOptions> = {}): Promise<Storage> {
  const storage = await openStorage({ folder, instance: 'one', keepDays: 7, ...more }, { log })
  opened.push(storage)
  return storage
}

function replaceByFile(path: string): void {
  rmSync(path, { recursive: true })
  writeFileSync(path, '')
}

const claim = { tenant: 't', caller: 'c', key: 'k', fingerprint: 'f', expiresAt: Date.now() + 3_600_000 }
const answers = (storage: Storage) => vi.waitFor(() => storage.keys.list())

describe('the thread of a store', () => {
  it('is the only thing that opens the files', async () => {
    await open()
    expect(workers.length).toBe(1)
    expect(readdirSync(folder).toSorted()).toEqual([
      'audit.key',
      'toolyard.db',
      'toolyard.db-shm',
      'toolyard.db-wal',
      'toolyard.reserve',
    ])
    for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
  })

  it('is gone after the store is closed', async () => {
    const storage = await open()
    const exit = new Promise((resolve) => workers[0]?.once('exit', resolve))
    await storage.close()
    await exit
    expect(readdirSync(folder).toSorted()).toEqual(['audit.key', 'toolyard.db', 'toolyard.reserve'])
    await expect(storage.keys.list()).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'The store is closed',
    })
  })

  it('finishes writes before the store is closed', async () => {
    const storage = await open()
    const appends = Array.from({ length: 30 }, () => storage.ledger.append([call(), call()], []))
    await storage.close()
    await Promise.all(appends)
    const report = await (await open({ instance: 'two' })).ledger.verify()
    expect(report).toMatchObject({ rows: 60, unsealed: 0, faults: [] })
  })

  it.each(['closed', 'left open'])('keeps no process alive (%s)', async (ending) => {
    const opener = new URL('./worker/fixtures/opener.ts', import.meta.url).pathname
    const { stdout } = await promisify(execFile)(process.execPath, [opener, folder, ending], { timeout: 50_000 })
    expect(stdout).toBe(ending === 'closed' ? 'false\n' : 'true\n')
  })

  it('says in the log when it ends and when it is back', async () => {
    const storage = await open()
    await workers[0]?.terminate()
    await vi.waitFor(() => expect(log.at('warn').length).toBeGreaterThan(0))
    await answers(storage)
    expect(log.lines.map(({ message }) => message)).toEqual([
      'The storage thread ended and will be restarted',
      'The storage thread was restarted',
    ])
  })
})

describe('a thread that ends', () => {
  it('rejects pending requests, logs it, and is restarted', async () => {
    const storage = await open()
    await storage.settings.put({ kind: 'tenant', name: 'acme', value: 1 })
    const heard: string[] = []
    storage.onChange((change) => heard.push(change))
    // It is ending already, and nobody knows yet: what is asked for now is never answered.
    const ended = workers[0]?.terminate()
    const waiting = storage.ledger.verify()
    await expect(waiting).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'The store is unavailable: its thread ended and is restarting',
    })
    await ended
    await expect(storage.keys.list()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(await storage.status()).toMatchObject({ engine: 'sqlite', ready: false, problem: /its thread ended/ })
    await answers(storage)
    expect(await storage.settings.list('tenant')).toEqual([{ kind: 'tenant', name: 'acme', value: 1 }])
    expect((await storage.status()).ready).toBe(true)
    // What may have been missed meanwhile is told of.
    await vi.waitFor(() => expect(heard).toEqual(expect.arrayContaining(['keys', 'settings', 'validations'])))
  })

  it('continues with a new chain and new figures, so that none is lost', async () => {
    const storage = await open()
    for (const _ of [1, 2, 3]) {
      await answers(storage)
      await storage.ledger.append([call(), call()], [])
      // Figures are written every few seconds, and when they are asked for.
      await storage.ledger.executions({ tenant: 'acme', window: '1h' })
      await workers.at(-1)?.terminate()
    }
    await answers(storage)
    expect(await storage.ledger.verify()).toMatchObject({ chains: 3, rows: 6, faults: [] })
    expect((await storage.ledger.executions({ tenant: 'acme', window: '1h' })).total).toBe(6)
  })

  it.runIf(FULL)('keeps the claims of the process', async () => {
    const storage = await open({ aliveMs: 2_000 })
    await storage.once.claim(claim)
    await workers[0]?.terminate()
    await answers(storage)
    const watchful = await open({ instance: 'two', aliveMs: 2_000 })
    const since = Date.now()
    while (Date.now() - since < 2_500) expect(await watchful.once.claim(claim)).toEqual({ state: 'running' })
    await storage.once.settle(claim, { success: true, result: 1, tool_name: 't', execution_time_ms: 1 })
    expect((await watchful.once.claim(claim)).state).toBe('done')
  })

  it('is not started again once the store is closed', async () => {
    const storage = await open()
    await workers[0]?.terminate()
    await storage.close()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(workers.length).toBe(1)
  })

  it.runIf(FULL)('is retried if it cannot be started, and the reason is reported', async () => {
    const storage = await open()
    const file = join(folder, 'toolyard.db')
    await workers[0]?.terminate()
    rmSync(file)
    mkdirSync(file)
    await vi.waitFor(async () => expect((await storage.status()).problem).toMatch(/toolyard.db cannot be opened/))
    rmSync(file, { recursive: true })
    await answers(storage)
  })
})

describe('a store that cannot be opened', () => {
  it.each([
    ['a folder that is a file', () => replaceByFile(folder), /data folder cannot be used/],
    ['a file that is no database', () => writeFileSync(join(folder, 'toolyard.db'), 'x'.repeat(5_000)), /no database/],
    ['a key that is damaged', () => writeFileSync(join(folder, 'audit.key'), 'short'), /audit\.key .* is damaged/],
  ])('says why (%s)', async (_what, prepare, message) => {
    prepare()
    const error = await open().catch((reason) => reason)
    expect(error).toBeInstanceOf(ToolExecutionError)
    expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', message })
    expect(error.message).not.toContain(folder)
  })

  it('says nothing of the address or the password of a database', async () => {
    const url = 'postgres://user:swordfish@127.0.0.1:1/hidden'
    const error = await open({ url }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(error.message).toMatch(/database/i)
    expect(JSON.stringify([error.message, error.stack, log.lines])).not.toMatch(/swordfish|127\.0\.0\.1|hidden/)
  })
})

describe('messages to the thread', () => {
  it('is plain data', async () => {
    const storage = await open()
    const value = () => 1
    await expect(storage.settings.put({ kind: 'tenant', name: 'x', value })).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: 'settings.put takes plain data only: numbers, strings, arrays and objects',
    })
    expect(await storage.settings.list('tenant')).toEqual([])
  })

  it('an error arrives with its code and without its stack', async () => {
    const storage = await open()
    const error = await storage.runs.get('a\0b', 'x').catch((reason) => reason)
    expect(error).toBeInstanceOf(ToolExecutionError)
    expect(error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: 'NUL characters cannot be stored: remove them from "a\\u0000b"',
    })
    expect(error.stack).not.toContain('storable-text.ts')
  })

  it('hides the details of unexpected errors, and logs them', async () => {
    const storage = await open()
    await expect(storage.jobs.list('acme', 'many' as unknown as number)).rejects.toMatchObject({
      code: 'EXECUTION_ERROR',
      message: 'The store failed: see the server log',
    })
    expect(log.lines).toMatchObject([
      { level: 'error', message: 'The store failed', fields: { part: 'jobs', err: { message: 'datatype mismatch' } } },
    ])
  })
})
