import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { silentLog } from '../core/log.ts'
import { deadline, hostile, isAlive, never, task, until } from './fixtures/task.ts'
import { ProcessPool } from './process-pool.ts'

const FULL = process.env.TOOLYARD_TEST_FULL === '1'
const pool = new ProcessPool({ memoryMb: 64 })

afterAll(() => pool.close())

/** Runs a call that must fail on a process that is then gone, beside one that must not notice. */
async function failsAlone(call: ReturnType<typeof hostile>, other = pool): Promise<Error & { code?: string }> {
  await other.run(task('echo'), never())
  const beside = other.run(task('slow', { ms: 100 }, { tenant: 'other' }), never())
  const error = await other.run(call, never()).then(
    (value) => expect.fail(`gave ${JSON.stringify(value)}`),
    (reason) => reason,
  )
  expect(await beside).toBeTypeOf('number')
  expect(await other.run(task('echo', 'still here'), never())).toEqual({ echo: 'still here' })
  return error
}

describe('a process that ends in the middle of a call', () => {
  it.each([
    ['exits', { code: 0 }, "The process of tool 'exits' ended before it answered (exit code 0)"],
    ['exits', { code: 3 }, "The process of tool 'exits' ended before it answered (exit code 3)"],
    ['aborts', {}, "The process of tool 'aborts' ended before it answered (exit code 134)"],
    ['disconnects', {}, "The process of tool 'disconnects' ended before it answered (signal SIGKILL)"],
    ['throwsLater', {}, 'thrown later'],
    ['rejectsLater', {}, 'rejected and forgotten'],
  ])('fails its own call only (%s %o)', async (name, params, message) => {
    expect((await failsAlone(hostile(name, params))).message).toBe(message)
  })

  it('is reported with the signal that killed it', async () => {
    const fresh = new ProcessPool()
    const pid = (await fresh.run(task('pid'), never())) as number
    const call = fresh.run(task('loop'), never())
    process.kill(pid, 'SIGKILL')
    await expect(call).rejects.toMatchObject({
      code: 'EXECUTION_ERROR',
      message: /ended before it answered \(signal SIGKILL\)/,
    })
    await fresh.close()
  })
})

describe('a call with an unknown outcome', () => {
  it.each([
    ['a result that is too large', task('gives', { what: 'large' })],
    ['a result that is no JSON', task('gives', { what: 'bigint' })],
    ['a result that is too deep', task('gives', { what: 'deep' })],
    ['an error beside the handler', hostile('throwsLater')],
    ['a process that ended', hostile('exits', { code: 0 })],
  ])('says so (%s)', async (_, call) => {
    const error = await pool.run(call, never()).catch((reason) => reason)
    expect(error).toHaveProperty('extras', { outcome: 'unknown' })
  })

  it('is reported if the pool closes while it runs, but not while it waits', async () => {
    const closing = new ProcessPool({ size: 1 })
    const [running, waiting] = [task('hang'), task('hang')]
    const calls = [running, waiting].map((call) => closing.run(call, never()).catch((error) => error))
    await until(() => running.started)
    await closing.close()
    expect(await Promise.all(calls)).toMatchObject([
      { code: 'SERVICE_UNAVAILABLE', extras: { outcome: 'unknown' } },
      { code: 'SERVICE_UNAVAILABLE' },
    ])
    expect(await calls[1]).toHaveProperty('extras', {})
  })

  it('is not reported if the handler itself failed', async () => {
    const error = await pool.run(task('throws', { what: 'coded' }), never()).catch((reason) => reason)
    expect(error).toHaveProperty('extras', {})
  })
})

describe('a process that writes to its channel', () => {
  const garbage = [
    ['text', 'no JSON at all'],
    ['nothing', ''],
    ['null', 'null'],
    ['an array', '[]'],
    ['an object', '{}'],
    ['half an object', '{'],
    ['control characters', '\u0000\u0001'],
    ['a failure without words', '{"type":"failed","id":1}'],
    ['an odd log level', '{"type":"log","id":1,"level":"constructor","message":"x","fields":{}}'],
    ['an odd type', '{"type":{"toString":1},"id":1}'],
    ['half a million brackets', `{"type":"done","id":1,"value":${'['.repeat(500_000)}${']'.repeat(500_000)}}`],
  ]
  it.each(FULL ? garbage : garbage.filter((_, index) => index % 5 === 0))(
    'garbage (%s) is ended',
    async (_what, text) => {
      const error = await failsAlone(hostile('garbage', { text }))
      expect(error).toMatchObject({
        code: 'EXECUTION_ERROR',
        message: /sent an invalid message and was ended$/,
      })
    },
  )

  it('a line without end is ended, as RESULT_TOO_LARGE', async () => {
    expect(await failsAlone(hostile('endlessLine'))).toMatchObject({ code: 'RESULT_TOO_LARGE' })
  })

  it('messages without end is ended', async () => {
    const fresh = new ProcessPool()
    let reports = 0
    const flood = hostile('flood', { id: 2 }, { report: () => reports++ })
    expect(await failsAlone(flood, fresh)).toMatchObject({ message: /sent more messages than a call may/ })
    expect(reports).toBeLessThanOrEqual(2000)
    await fresh.close()
  })

  it('two answers settles one call, and is ended before the next', async () => {
    const fresh = new ProcessPool()
    const pid = (await fresh.run(task('pid'), never())) as number
    expect(await fresh.run(hostile('settlesTwice', { id: 2 }), never())).toBe('first')
    await until(() => !isAlive(pid))
    expect(await fresh.run(task('pid'), never())).not.toBe(pid)
    await fresh.close()
  })

  it('an answer to a call that is not its own does not settle that one', async () => {
    const forged = hostile('garbage', { text: '{"type":"done","id":999,"value":"forged"}' })
    await expect(pool.run(forged, deadline(300))).rejects.toThrow('late')
  })
})

describe('memory', () => {
  it.each(['allocate', 'allocateBuffers'])('without end is an error, and the process is gone (%s)', async (name) => {
    const error = await failsAlone(hostile(name))
    expect(error).toMatchObject({
      code: 'EXECUTION_ERROR',
      message: `Tool '${name}' ran out of memory (limit 64 MB)`,
    })
  })
})

describe('what a call leaves running', () => {
  it('ends with its process, before the next call', async () => {
    const pid = (await pool.run(hostile('leavesTimer'), never())) as number
    await until(() => !isAlive(pid))
    expect(await pool.run(task('pid'), never())).not.toBe(pid)
  })
})

describe('the ways out of a process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isolated-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  it('are closed, apart from the network', async () => {
    const ways = await pool.run(hostile('escapes', { parent: process.pid, folder }), never())
    expect(ways).toEqual({
      write: 'ERR_ACCESS_DENIED',
      read: 'ERR_ACCESS_DENIED',
      list: 'ERR_ACCESS_DENIED',
      spawn: 'ERR_ACCESS_DENIED',
      worker: 'ERR_ACCESS_DENIED',
      addon: 'ERR_DLOPEN_DISABLED',
      inspector: 'ERR_ACCESS_DENIED',
      database: expect.stringContaining('TypeError'),
      kill: 'ERR_ACCESS_DENIED',
      rawKill: 'ERR_ACCESS_DENIED',
      debug: 'ERR_ACCESS_DENIED',
      priority: 'ERR_ACCESS_DENIED',
    })
    expect(existsSync(join(folder, 'written'))).toBe(false)
    expect(existsSync(join(folder, 'written.db'))).toBe(false)
  })
})

describe('a process that cannot be started', () => {
  const { execPath } = process
  afterEach(() => {
    process.execPath = execPath
  })

  it('fails the waiting calls, is logged, and does not stop the next call from trying', async () => {
    const error = vi.fn()
    const broken = new ProcessPool({ log: { ...silentLog, error } })
    process.execPath = '/nowhere/node'
    await expect(broken.run(task('echo'), never())).rejects.toMatchObject({
      code: 'EXECUTION_ERROR',
      message: "The process for tool 'echo' could not be started",
    })
    expect(error).toHaveBeenCalledTimes(1)
    process.execPath = execPath
    expect(await broken.run(task('echo', 1), never())).toEqual({ echo: 1 })
    await broken.close()
  })
})
