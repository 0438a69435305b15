import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../core/log.ts'
import { captureLog, ManualClock } from '../testing/stand-ins.ts'
import { LocalJobQueue } from './local-job-queue.ts'

/** Lets everything happen that waits for nothing but its turn. */
const settle = async () => {
  for (let turn = 0; turn < 10; turn++) await setImmediate()
}

/** A store with jobs that wait, and a queue that works on them: jobs end when the test says so. */
function queueOf(names: readonly string[], size = 4) {
  const clock = new ManualClock()
  const log = captureLog()
  const waiting = names.map((id) => ({ id, tenant: id.split('-')[0] as string }))
  const begun = new Map<string, PromiseWithResolvers<void>>()
  let looks = 0
  const store = {
    waiting: async (limit: number) => {
      looks++
      return waiting.slice(0, limit)
    },
  }
  const queue = new LocalJobQueue(store, { clock, log, size })
  return {
    clock,
    log,
    queue,
    begun,
    looks: () => looks,
    add(id: string) {
      waiting.push({ id, tenant: id.split('-')[0] as string })
    },
    work: async () => {
      await queue.work((id) => {
        // As a job that is taken waits no more.
        const at = waiting.findIndex((one) => one.id === id)
        if (at >= 0) waiting.splice(at, 1)
        const work = Promise.withResolvers<void>()
        begun.set(id, work)
        return work.promise
      })
      await settle()
    },
    end: async (id: string) => {
      begun.get(id)?.resolve()
      await settle()
    },
  }
}

describe('the queue of one process', () => {
  test('runs waiting jobs at the start', async () => {
    const { work, begun } = queueOf(['a-1', 'b-1'])
    await work()
    expect([...begun.keys()]).toEqual(['a-1', 'b-1'])
  })

  test('starts a job when it is added', async () => {
    const { work, begun, add, queue } = queueOf([])
    await work()
    add('a-1')
    await queue.add()
    await settle()
    expect([...begun.keys()]).toEqual(['a-1'])
  })

  test('limits concurrent jobs, and starts the next when one ends', async () => {
    const { work, begun, end } = queueOf(['a-1', 'b-1', 'c-1', 'd-1', 'e-1'])
    await work()
    expect([...begun.keys()]).toEqual(['a-1', 'b-1', 'c-1', 'd-1'])
    await end('b-1')
    expect([...begun.keys()].at(-1)).toBe('e-1')
  })

  test('one tenant has half of the places, however many jobs it has', async () => {
    const { work, begun, end } = queueOf(['a-1', 'a-2', 'a-3', 'a-4', 'b-1'])
    await work()
    expect([...begun.keys()]).toEqual(['a-1', 'a-2', 'b-1'])
    await end('a-1')
    expect([...begun.keys()].at(-1)).toBe('a-3')
  })

  test('a place for one is a place', async () => {
    const { work, begun } = queueOf(['a-1'], 1)
    await work()
    expect([...begun.keys()]).toEqual(['a-1'])
  })

  test('looks for unannounced jobs regularly', async () => {
    const { work, begun, add, clock } = queueOf([])
    await work()
    add('a-1')
    await settle()
    expect(begun.size).toBe(0)
    clock.advance(5_000)
    await settle()
    expect([...begun.keys()]).toEqual(['a-1'])
  })

  test('runs a job once that is added several times', async () => {
    const { work, begun, add, queue } = queueOf([])
    await work()
    add('a-1')
    await Promise.all(Array.from({ length: 20 }, () => queue.add()))
    await settle()
    expect([...begun.keys()]).toEqual(['a-1'])
  })

  test('logs a failure, and retries at the next lookup', async () => {
    const { queue, clock, log, looks } = queueOf(['a-1'])
    let tries = 0
    await queue.work(async () => {
      tries++
      throw new Error('disk full')
    })
    await settle()
    expect([tries, looks()]).toEqual([1, 1])
    clock.advance(5_000)
    await settle()
    expect(tries).toBe(2)
    expect(log.lines[0]).toMatchObject({ level: 'error', fields: { job: 'a-1', err: { message: 'disk full' } } })
  })

  test('a store that cannot be read is reported, and asked again later', async () => {
    const clock = new ManualClock()
    const log = captureLog()
    let broken = true
    const waiting = async () => {
      if (broken) throw new Error('gone')
      return [{ id: 'a-1', tenant: 'a' }]
    }
    const queue = new LocalJobQueue({ waiting }, { clock, log })
    const begun: string[] = []
    await queue.work(async (id) => {
      begun.push(id)
      await new Promise(() => {})
    })
    await settle()
    expect(log.lines.map(({ level }) => level)).toEqual(['error'])
    broken = false
    clock.advance(5_000)
    await settle()
    expect(begun).toEqual(['a-1'])
  })
})

describe('closing', () => {
  test('waits for running jobs, and starts no more', async () => {
    const { work, begun, end, queue, add, clock } = queueOf(['a-1'])
    await work()
    let closed = false
    const closing = queue.close(60_000).then(() => {
      closed = true
    })
    add('a-2')
    await queue.add()
    clock.advance(10_000)
    await settle()
    expect([closed, [...begun.keys()]]).toEqual([false, ['a-1']])
    await end('a-1')
    await closing
    expect(begun.size).toBe(1)
    expect(clock.pending).toBe(0)
  })

  test('waits no longer than the limit', async () => {
    const { work, queue, clock } = queueOf(['a-1'])
    await work()
    const closing = queue.close(60_000)
    await settle()
    clock.advance(60_000)
    await closing
  })

  test('closes at once if no job runs', async () => {
    const queue = new LocalJobQueue({ waiting: async () => [] }, { clock: new ManualClock(), log: silentLog })
    await queue.work(async () => {})
    await queue.close(60_000)
  })
})
