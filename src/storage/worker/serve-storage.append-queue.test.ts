import { describe, expect, it } from 'vitest'
import type { CallEntry } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { call } from '../../testing/storage/call-entry.ts'
import { packCalls } from './packed-calls.ts'
import { AppendQueue } from './serve-storage.ts'

/** A ledger that notes what it is given, and fails where it is told to. */
function noting(fails: (calls: readonly CallEntry[]) => boolean = () => false) {
  const given: { calls: readonly CallEntry[]; runs: readonly StoredRun[] }[] = []
  return {
    given,
    async append(calls: readonly CallEntry[], runs: readonly StoredRun[]) {
      given.push({ calls, runs })
      await Promise.resolve()
      if (fails(calls)) throw new Error('full')
    },
  }
}

const batch = (tool: string, size: number) => packCalls(Array.from({ length: size }, () => call({ tool, at: 1 })))

describe('a queue of appends', () => {
  it('gives on what it was given, whole and in order', async () => {
    const ledger = noting()
    const run = { id: 'run' } as StoredRun
    await new AppendQueue(ledger).append(packCalls([call({ at: 1, params: null, code: 'TIMEOUT' })]), [run])
    expect(ledger.given).toEqual([{ calls: [call({ at: 1, params: null, code: 'TIMEOUT' })], runs: [run] }])
  })

  it('writes what comes in one turn at once', async () => {
    const ledger = noting()
    const queue = new AppendQueue(ledger)
    await Promise.all(['a', 'b', 'c'].map((tool) => queue.append(batch(tool, 2), [])))
    expect(ledger.given.map(({ calls }) => calls.map(({ tool }) => tool))).toEqual([['a', 'a', 'b', 'b', 'c', 'c']])
  })

  it('writes no more at once than takes a moment, and a batch that is larger by itself', async () => {
    const ledger = noting()
    const queue = new AppendQueue(ledger)
    await Promise.all([5_000, 2_000, 2_000, 2_000, 10].map((size, index) => queue.append(batch(`${index}`, size), [])))
    expect(ledger.given.map(({ calls }) => calls.length)).toEqual([5_000, 4_000, 2_010])
  })

  it('fails those whose writing failed, and goes on with the next', async () => {
    const ledger = noting((calls) => calls.some(({ tool }) => tool === 'bad'))
    const queue = new AppendQueue(ledger)
    const outcomes = await Promise.allSettled([
      queue.append(batch('bad', 4_096), []),
      queue.append(batch('good', 4_096), []),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    await queue.append(batch('good', 1), [])
  })

  it('is idle when everything is written', async () => {
    const ledger = noting()
    const queue = new AppendQueue(ledger)
    await queue.idle()
    for (const _ of [1, 2, 3]) void queue.append(batch('a', 4_000), [])
    await queue.idle()
    expect(ledger.given.length).toBe(3)
  })
})
