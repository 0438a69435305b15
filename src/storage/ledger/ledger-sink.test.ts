import { describe, expect, test } from 'vitest'
import { auditColumns } from '../../core/records/audit-columns.ts'
import type { Ledger } from '../../core/storage/ledger.ts'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { run, settle } from './fixtures/open-ledger.ts'
import { openSink, record } from './fixtures/open-sink.ts'
import { LedgerSink } from './ledger-sink.ts'

describe('batches', () => {
  test('records become entries', async () => {
    const { sink, appends, clock } = openSink()
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
      ...Object.fromEntries(auditColumns.flatMap(({ field }) => (field === undefined ? [] : [[field, null]]))),
      at: 105,
      tenant: 'acme',
      source: 'rest',
      tool: 'a',
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

  test('have the names of unknown tools without keys', () => {
    const { sink, appends, clock } = openSink()
    const key = `ty_${'aB3'.repeat(14)}x`
    const unknown = { schemaHash: undefined, code: 'TOOL_NOT_FOUND' } as const
    const names = [key, `tool_${key}`, key.toUpperCase(), `x${key.slice(1)}`, 'no_such_tool']
    sink.write({ records: [...names.map((name) => record(name, unknown)), record('ty_weather_forecast')], epoch: 0 })
    clock.advance(50)
    expect(appends[0]?.calls.map(({ tool }) => tool)).toEqual([
      ...['[redacted]', 'tool_[redacted]', '[redacted]', '[redacted]', 'no_such_tool', 'ty_weather_forecast'],
    ])
  })

  test('wait a moment for others, and while one is written the next one grows', async () => {
    const { write, tools, clock, end } = openSink()
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
    write('f')
    clock.advance(5)
    await end(1)
    clock.advance(10)
    expect(tools()).toEqual(['ab', 'cde'])
    clock.advance(5)
    expect(tools()).toEqual(['ab', 'cde', 'f'])
    await end(2)
    expect(clock.pending).toBe(0)
  })

  test('have a maximum size', async () => {
    const { write, appends, clock, end } = openSink()
    write(...new Array(5_000).fill('x'))
    clock.advance(50)
    await end(0)
    expect(appends.map(({ calls }) => calls.length)).toEqual([2_000, 2_000])
    await end(1)
    clock.advance(20)
    expect(appends.map(({ calls }) => calls.length)).toEqual([2_000, 2_000, 1_000])
  })
})

describe('a buffer that is full', () => {
  test('drops the newest records, counts them, and logs it', async () => {
    const { sink, write, clock, tools, end, log, messages } = openSink({ maxRecords: 3 })
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
    expect(messages().slice(2)).toEqual(['info: Records of calls are no longer dropped'])
    expect(log.at('info')).toEqual([{ dropped: 4, in_all: 4 }])
    await end(1)
    expect(tools()).toEqual(['ab', 'c'])
    expect(sink.dropped).toBe(4)
  })

  test('is not over as long as it is more than half full', async () => {
    const { write, clock, end, log } = openSink({ maxRecords: 10 })
    write(...'abcd')
    clock.advance(50)
    write(...'efghijkl')
    await end(0)
    expect(log.at('info')).toEqual([])
    await end(1)
    expect(log.at('info')).toEqual([{ dropped: 2, in_all: 2 }])
  })

  test('is full by bytes, too', () => {
    const { sink, write } = openSink({ maxBytes: 1_000 })
    write('a', 'b', 'c')
    expect(sink.dropped).toBe(1)
    sink.run(run({ answer: 'x'.repeat(1_000) }))
    expect(sink.dropped).toBe(2)
  })

  test('takes calls that have set aside a part of a budget: their cost must count', () => {
    const { sink, write } = openSink({ maxRecords: 2 })
    write('a', 'b', 'c')
    expect(sink.dropped).toBe(1)
    const held = { ...record('d'), hold: { id: 'held', micros: 1 } }
    sink.write({ records: [held, held, held], epoch: 0 })
    expect(sink.dropped).toBe(2)
  })

  test('is empty again when its records are written', async () => {
    const { sink, write, clock, end } = openSink({ maxBytes: 1_000 })
    for (let n = 0; n < 3; n++) {
      write('a', 'b')
      clock.advance(50)
      await end(n)
    }
    expect(sink.dropped).toBe(0)
  })
})

describe('a ledger that fails', () => {
  test('is retried with the same batch, then gets everything in order; the failure is logged once, and its end', async () => {
    const { write, tools, clock, end, messages } = openSink()
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
      'error: The ledger failed: records of calls are buffered and retried',
      'info: The ledger works again: buffered records are written',
    ])
    write('c')
    clock.advance(50)
    await end(4, new Error('away once more'))
    clock.advance(100)
    expect(tools()).toHaveLength(6)
  })

  test('is asked at least every five seconds', async () => {
    const { write, appends, clock, end } = openSink()
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
