import { afterEach, describe, expect, it } from 'vitest'
import { captureLog, ManualClock } from '../testing/stand-ins.ts'
import { hostile, isAlive, never, task, until } from './fixtures/task.ts'
import { ProcessPool, type ProcessPoolOptions } from './process-pool.ts'

const pools: ProcessPool[] = []
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close()
})

function open(options: ProcessPoolOptions): ProcessPool {
  const pool = new ProcessPool({ size: 1, spare: false, ...options })
  pools.push(pool)
  return pool
}

describe('a pool without a spare', () => {
  it('starts no process before a call needs one, and keeps it for the next call', async () => {
    const pool = open({})
    expect(pool.pids).toEqual([])
    const first = await pool.run(task('pid'), never())
    expect(await pool.run(task('pid'), never())).toBe(first)
    expect(pool.pids).toEqual([first])
  })

  it('gives all processes to one tenant if its share is as large', async () => {
    const pool = open({ size: 2, share: 2 })
    const calls = [pool.run(task('slow', { ms: 300 }), never()), pool.run(task('slow', { ms: 300 }), never())]
    await until(() => pool.pids.length === 2)
    await Promise.all(calls)
  })
})

describe('a call whose process ends', () => {
  it('is tried again, with a warning', async () => {
    const log = captureLog()
    const pool = open({ tries: 2, log })
    const first = (await pool.run(task('pid'), never())) as number
    const call = pool.run(task('slow', { ms: 300 }), never())
    process.kill(first, 'SIGKILL')
    await call
    expect(pool.pids).not.toContain(first)
    expect(log.at('warn')).toEqual([{ tool: 'slow', detail: expect.stringContaining('signal SIGKILL') }])
  })

  it('fails after the last try, and the next call works', async () => {
    const pool = open({ tries: 2 })
    await expect(pool.run(hostile('exits', { code: 3 }), never())).rejects.toThrow('(exit code 3)')
    expect(await pool.run(task('pid'), never())).toBeTypeOf('number')
  })

  it('is not tried again if the pool shuts down', async () => {
    const log = captureLog()
    const pool = open({ tries: 2, log })
    await pool.run(task('pid'), never())
    const calls = [pool.run(task('loop'), never()), pool.run(task('loop'), never())]
    const ends = Promise.allSettled(calls)
    await pool.close()
    const refused = { reason: { message: expect.stringContaining('the process pool is shut down') } }
    expect(await ends).toMatchObject([refused, refused])
    expect(log.at('warn')).toEqual([])
  })

  it('is not tried again if its signal aborted', async () => {
    const pool = open({ tries: 2 })
    await pool.run(task('pid'), never())
    const controller = new AbortController()
    const call = pool.run(task('loop'), controller.signal)
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
  })
})

it('lets a process finish an aborted call if it should not be killed', async () => {
  const pool = open({ killOnAbort: false })
  const first = await pool.run(task('pid'), never())
  const controller = new AbortController()
  const call = pool.run(task('slow', { ms: 300 }), controller.signal)
  controller.abort(new Error('enough'))
  await expect(call).rejects.toThrow('enough')
  expect(await pool.run(task('pid'), never())).toBe(first)
})

it('keeps the process of a trusted handler that leaves a timer running', async () => {
  const pool = open({ trusted: true })
  const first = await pool.run(hostile('leavesTimer'), never())
  expect(await pool.run(task('pid'), never())).toBe(first)
})

describe('with a clock', () => {
  it('kills a process that works on one call for too long', async () => {
    const clock = new ManualClock()
    const pool = open({ callTimeoutMs: 60_000, clock, tries: 2 })
    const first = (await pool.run(task('pid'), never())) as number
    const call = pool.run(task('hang'), never())
    clock.advance(60_000)
    await expect(call).rejects.toMatchObject({ code: 'TIMEOUT', message: "Tool 'hang' took more than 60 s" })
    await until(() => !isAlive(first))
    expect(clock.pending).toBe(0)
  })

  it('ends processes without work, and starts another for the next call', async () => {
    const clock = new ManualClock()
    const pool = open({ idleMs: 1_000, clock })
    const first = (await pool.run(task('pid'), never())) as number
    clock.advance(999)
    expect(await pool.run(task('pid'), never())).toBe(first)
    clock.advance(1_000)
    await until(() => pool.pids.length === 0)
    expect([isAlive(first), clock.pending]).toEqual([false, 0])
    expect(await pool.run(task('pid'), never())).not.toBe(first)
  })
})
