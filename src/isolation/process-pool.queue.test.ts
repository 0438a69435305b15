import { describe, expect, it } from 'vitest'
import { isAlive, never, task, until } from './fixtures/task.ts'
import { ProcessPool } from './process-pool.ts'

describe('waiting', () => {
  it('starts no process before the first call', async () => {
    const pool = new ProcessPool()
    expect(pool.pids).toEqual([])
    await pool.close()
  })

  it('starts the spare when warmed, once', async () => {
    const pool = new ProcessPool()
    pool.warm()
    pool.warm()
    expect(pool.pids).toHaveLength(1)
    const [pid] = pool.pids
    expect(await pool.run(task('pid'), never())).toBe(pid)
    await pool.close()
  })

  it('keeps one spare beyond those that work, and never more', async () => {
    const pool = new ProcessPool({ size: 2 })
    const finished = new AbortController()
    const tasks = ['a', 'b', 'c', 'd'].map((tenant) => task('hang', {}, { tenant }))
    const calls = tasks.map((call, n) => pool.run(call, n < 2 ? finished.signal : never()))
    const settled = Promise.allSettled(calls)
    let most = 0
    const isWorking = (count: number) => {
      most = Math.max(most, pool.pids.length)
      return tasks.filter(({ started }) => started).length === count && pool.pids.length === 3
    }
    await until(() => isWorking(2))
    finished.abort()
    await until(() => isWorking(4))
    expect(most).toBe(3)
    await pool.close()
    await settled
  })

  it('is limited: the next call is SERVICE_UNAVAILABLE at once', async () => {
    const pool = new ProcessPool({ size: 2, queue: 3 })
    const [loop, ends] = [task('loop'), new AbortController()]
    const looping = pool.run(loop, ends.signal)
    await until(() => loop.started)
    const waiting = [1, 2, 3].map((n) => pool.run(task('echo', n), never()))
    const refused = task('echo')
    await expect(pool.run(refused, never())).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringContaining(
        'is unavailable: all processes of its tenant are busy and 3 calls already wait. Try again later',
      ),
    })
    expect(refused.started).toBe(false)
    ends.abort(new Error('late'))
    await expect(looping).rejects.toThrow('late')
    expect(await Promise.all(waiting)).toEqual([1, 2, 3].map((echo) => ({ echo })))
    await pool.close()
  })

  it('ends at the deadline, without having started', async () => {
    const pool = new ProcessPool({ size: 2 })
    const [loop, waiting, ends] = [task('loop'), task('echo'), new AbortController()]
    const looping = pool.run(loop, never())
    await until(() => loop.started)
    const waited = pool.run(waiting, ends.signal)
    ends.abort(new Error('late'))
    await expect(waited).rejects.toThrow('late')
    expect(waiting.started).toBe(false)
    await Promise.all([pool.close(), expect(looping).rejects.toThrow()])
  })

  it('is in the order of arrival for one tenant', async () => {
    const pool = new ProcessPool({ size: 2 })
    const order: number[] = []
    const calls = [1, 2, 3, 4, 5].map((n) => pool.run(task('echo', n), never()).then(() => order.push(n)))
    await Promise.all(calls)
    expect(order).toEqual([1, 2, 3, 4, 5])
    await pool.close()
  })
})

describe('tenants', () => {
  it('leave a process to other tenants', async () => {
    const pool = new ProcessPool({ size: 2 })
    const greedy = [1, 2, 3].map(() => pool.run(task('loop', {}, { tenant: 'greedy' }), never()))
    const settled = Promise.allSettled(greedy)
    await until(() => pool.pids.length === 2)
    for (let n = 0; n < 5; n++) {
      expect(await pool.run(task('echo', n, { tenant: 'modest' }), never())).toEqual({ echo: n })
    }
    await pool.close()
    await settled
  })

  it('hold at most half of the processes, and a full queue of one refuses no other', async () => {
    const pool = new ProcessPool({ size: 4, queue: 2, spare: false })
    const greedy = [1, 2, 3, 4].map(() => task('loop', {}, { tenant: 'greedy' }))
    const running = greedy.slice(0, 2).map((call) => pool.run(call, never()))
    await until(() => greedy.slice(0, 2).every(({ started }) => started))
    const settled = Promise.allSettled([...running, ...greedy.slice(2).map((call) => pool.run(call, never()))])
    const more = pool.run(task('loop', {}, { tenant: 'greedy' }), never())
    await expect(more).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    const others = [1, 2].map((n) => pool.run(task('echo', n, { tenant: `other${n}` }), never()))
    expect(await Promise.all(others)).toEqual([{ echo: 1 }, { echo: 2 }])
    expect(greedy.map(({ started }) => started)).toEqual([true, true, false, false])
    await pool.close()
    await settled
  })

  it('take turns', async () => {
    const pool = new ProcessPool({ size: 1 })
    const order: string[] = []
    const call = (tenant: string) =>
      pool.run(task('slow', { ms: 5 }, { tenant }), never()).then(() => order.push(tenant))
    await Promise.all([call('a'), call('a'), call('a'), call('b'), call('c')])
    expect(order).toEqual(['a', 'b', 'c', 'a', 'a'])
    await pool.close()
  })
})

describe('closing', () => {
  it('ends every process, rejects running and waiting calls, and refuses new ones', async () => {
    const pool = new ProcessPool({ size: 2 })
    await pool.run(task('echo'), never())
    const calls = [task('loop'), task('loop'), task('echo')].map((call) => pool.run(call, never()))
    const settled = Promise.allSettled(calls)
    const { pids } = pool
    await Promise.all([pool.close(), pool.close()])
    expect(pids.filter(isAlive)).toEqual([])
    expect(pool.pids).toEqual([])
    for (const result of [...(await settled), ...(await Promise.allSettled([pool.run(task('echo'), never())]))]) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'SERVICE_UNAVAILABLE' } })
    }
  })
})
