import { describe, expect, test } from 'vitest'
import type { CallRecord } from '../../core/recorder.ts'
import type { CallEntry, Ledger } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { captureLog } from '../../testing/capture-log.ts'
import { ManualClock } from '../../testing/manual-clock.ts'
import { run, settle } from './fixtures/open-ledger.ts'
import { LedgerSink, type LedgerSinkOptions } from './ledger-sink.ts'

const record = (tool: string, changes: Partial<CallRecord> = {}): CallRecord => ({
  tool,
  tenant: 'acme',
  caller: undefined,
  source: 'rest',
  runId: undefined,
  params: { city: 'Hamburg' },
  nodes: 2,
  code: undefined,
  outcomeUnknown: false,
  attempts: 1,
  schemaHash: 'schema-1',
  model: undefined,
  startedMs: 5,
  executionTimeMs: 1.5,
  ...changes,
})

interface Append {
  readonly calls: readonly CallEntry[]
  readonly runs: readonly StoredRun[]
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** A sink into a ledger whose appends end when the test says so. */
function open(options: Partial<LedgerSinkOptions> = {}) {
  const appends: Append[] = []
  const ledger = {
    append: (calls: readonly CallEntry[], runs: readonly StoredRun[]) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      appends.push({ calls, runs, resolve, reject })
      return promise
    },
  } as unknown as Ledger
  const clock = new ManualClock()
  const log = captureLog()
  const sink = new LedgerSink(ledger, { clock, log, ...options })
  const write = (...tools: string[]) => sink.write({ records: tools.map((tool) => record(tool)), epoch: 100 })
  const tools = () => appends.map(({ calls }) => calls.map(({ tool }) => tool).join(''))
  const end = async (index: number, error?: Error) => {
    const append = appends[index] as Append
    if (error === undefined) append.resolve()
    else append.reject(error)
    await settle()
  }
  /** Whether a promise has settled by now. */
  const settled = async (promise: unknown) => {
    let done = false
    void (promise as Promise<void>).then(() => {
      done = true
    })
    await settle()
    return done
  }
  const messages = () => log.lines.map(({ level, message }) => `${level}: ${message}`)
  return { sink, appends, clock, log, write, tools, end, settled, messages }
}

describe('batches', () => {
  test('records become entries', async () => {
    const { sink, appends, clock } = open()
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    const failed = { code: 'TIMEOUT', outcomeUnknown: true, model: 'm', runId: 'r', caller: 'k', attempts: 3 } as const
    const records = [
      record('a'),
      record('b', failed),
      record('c', { params: undefined }),
      record('d', { params: cyclic }),
    ]
    sink.write({ records, epoch: 100 })
    sink.run(run())
    clock.advance(50)
    const [one, two, three, four] = appends[0]?.calls ?? []
    expect(one).toEqual({
      at: 105,
      tenant: 'acme',
      caller: null,
      source: 'rest',
      runId: null,
      tool: 'a',
      model: null,
      schemaHash: 'schema-1',
      params: '{"city":"Hamburg"}',
      code: null,
      unknown: false,
      durationMs: 1.5,
      attempts: 1,
    })
    expect(two).toMatchObject({ code: 'TIMEOUT', unknown: true, model: 'm', runId: 'r', caller: 'k', attempts: 3 })
    expect([three?.params, four?.params]).toEqual([null, null])
    expect(appends[0]?.runs).toEqual([run()])
  })

  test('wait a moment for others, and while one is written the next one grows', async () => {
    const { write, tools, clock, end } = open()
    write('a')
    write('b')
    expect(tools()).toEqual([])
    clock.advance(50)
    expect(tools()).toEqual(['ab'])
    write('c')
    clock.advance(1_000)
    write('d', 'e')
    expect(tools()).toEqual(['ab'])
    await end(0)
    expect(tools()).toEqual(['ab', 'cde'])
    await end(1)
    expect(clock.pending).toBe(0)
  })

  test('have a most, so that no thread is held up by one', async () => {
    const { write, appends, clock, end } = open()
    write(...new Array(5_000).fill('x'))
    clock.advance(50)
    await end(0)
    await end(1)
    expect(appends.map(({ calls }) => calls.length)).toEqual([2_000, 2_000, 1_000])
  })
})

describe('a buffer that is full', () => {
  test('drops the newest, counts them, says so now and then, and when it is over', async () => {
    const { sink, write, clock, tools, end, log, messages } = open({ mostRecords: 3 })
    write('a', 'b')
    clock.advance(50)
    write('c', 'd', 'e')
    expect(sink.dropped).toBe(2)
    clock.advance(9_000)
    write('f')
    expect(log.at('warn')).toEqual([{ dropped: 2, in_all: 2 }])
    clock.advance(1_000)
    write('g')
    expect(log.at('warn').slice(1)).toEqual([{ dropped: 2, in_all: 4 }])
    await end(0)
    expect(messages().slice(2)).toEqual(['info: Records of calls are kept again'])
    expect(log.at('info')).toEqual([{ dropped: 4, in_all: 4 }])
    await end(1)
    expect(tools()).toEqual(['ab', 'c'])
    expect(sink.dropped).toBe(4)
  })

  test('is full by bytes, too', () => {
    const { sink, write } = open({ mostBytes: 1_000 })
    write('a', 'b', 'c')
    expect(sink.dropped).toBe(1)
    sink.run(run({ answer: 'x'.repeat(1_000) }))
    expect(sink.dropped).toBe(2)
  })
})

describe('a ledger that fails', () => {
  test('is tried again with the same batch, then gets everything in order; said once, and when it works again', async () => {
    const { write, tools, clock, end, messages } = open()
    write('a')
    clock.advance(50)
    await end(0, new Error('away'))
    write('b')
    clock.advance(99)
    expect(tools()).toEqual(['a'])
    clock.advance(1)
    await end(1, new Error('still away'))
    clock.advance(199)
    expect(tools()).toEqual(['a', 'a'])
    clock.advance(1)
    await end(2)
    expect(tools()).toEqual(['a', 'a', 'a', 'b'])
    await end(3)
    expect(messages()).toEqual([
      'error: The ledger failed: records of calls are kept and tried again',
      'info: The ledger works again: what was kept is written',
    ])
  })

  test('is asked at least every five seconds', async () => {
    const { write, appends, clock, end } = open()
    write('a')
    clock.advance(50)
    for (let n = 0; n < 20; n++) {
      await end(n, new Error('away'))
      clock.advance(5_000)
      expect(appends).toHaveLength(n + 2)
    }
  })

  test('that throws at once is one that fails', async () => {
    const log = captureLog()
    const clock = new ManualClock()
    const ledger = {
      append: () => {
        throw new Error('no')
      },
    } as unknown as Ledger
    const sink = new LedgerSink(ledger, { clock, log })
    sink.write({ records: [record('a')], epoch: 0 })
    clock.advance(50)
    await settle()
    expect(log.at('error')).toHaveLength(1)
  })
})

describe('flush', () => {
  test('settles when everything handed in before it is written', async () => {
    const { sink, write, tools, end, settled } = open()
    expect(await settled(sink.flush())).toBe(true)
    write('a')
    const flushed = sink.flush()
    expect(tools()).toEqual(['a'])
    write('b')
    expect(await settled(flushed)).toBe(false)
    await end(0)
    expect(await settled(flushed)).toBe(true)
    expect(tools()).toEqual(['a', 'b'])
  })
})

describe('durable', () => {
  test('a write settles when its batch is committed', async () => {
    const { write, tools, end, settled } = open({ durable: true })
    const [a, b, c] = [write('a'), write('b'), write('c')]
    expect(tools()).toEqual(['a'])
    expect(await settled(a)).toBe(false)
    await end(0)
    expect([await settled(a), await settled(b)]).toEqual([true, false])
    expect(tools()).toEqual(['a', 'bc'])
    await end(1)
    expect([await settled(b), await settled(c)]).toEqual([true, true])
  })

  test('a write settles when it has failed, and the next ones do not wait until it works again', async () => {
    const { write, tools, clock, end, settled, log } = open({ durable: true })
    const a = write('a')
    await end(0, new Error('away'))
    expect(await settled(a)).toBe(true)
    expect(log.at('error')).toHaveLength(1)
    expect(await settled(write('b'))).toBe(true)
    clock.advance(100)
    await end(1)
    expect(tools()).toEqual(['a', 'a', 'b'])
    const c = write('c')
    expect(await settled(c)).toBe(false)
    await end(2)
    await end(3)
    expect(await settled(c)).toBe(true)
  })

  test('a write that finds no room does not wait for ever', async () => {
    const { sink, write, end, settled } = open({ durable: true, mostRecords: 1 })
    write('a')
    const b = write('b')
    await end(0)
    expect(await settled(b)).toBe(true)
    expect(sink.dropped).toBe(1)
  })
})

describe('close', () => {
  test('writes what is left, at once also in the middle of a pause, and takes nothing more', async () => {
    const { sink, write, tools, clock, end, settled } = open()
    write('a')
    clock.advance(50)
    await end(0, new Error('away'))
    const closed = sink.close(1_000)
    expect(tools()).toEqual(['a', 'a'])
    write('b')
    await end(1)
    expect(await settled(closed)).toBe(true)
    expect(sink.dropped).toBe(1)
    expect(clock.pending).toBe(0)
  })

  test('gives up at its limit, and says what is lost', async () => {
    const { sink, write, clock, end, settled, log } = open()
    write('a', 'b')
    const flushed = sink.flush()
    const closed = sink.close(1_000)
    clock.advance(999)
    expect(await settled(closed)).toBe(false)
    clock.advance(1)
    expect([await settled(closed), await settled(flushed), await settled(sink.flush())]).toEqual([true, true, true])
    expect(log.at('error')).toEqual([{ lost: 2 }])
    expect(sink.dropped).toBe(2)
    await end(0, new Error('too late'))
    expect(clock.pending).toBe(0)
  })
})
