import { describe, expect, test } from 'vitest'
import { openSink } from './fixtures/open-sink.ts'

describe('flush', () => {
  test('settles when everything handed in before it is written', async () => {
    const { sink, write, tools, clock, end, settled } = openSink()
    expect(await settled(sink.flush())).toBe(true)
    write('a')
    const flushed = sink.flush()
    expect(tools()).toEqual(['a'])
    write('b')
    expect(await settled(flushed)).toBe(false)
    await end(0)
    expect(await settled(flushed)).toBe(true)
    clock.advance(20)
    expect(tools()).toEqual(['a', 'b'])
  })
})

describe('durable', () => {
  test('a write settles when its batch is committed', async () => {
    const { write, tools, end, settled } = openSink({ durable: true })
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
    const { write, tools, clock, end, settled, log } = openSink({ durable: true })
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
    const { sink, write, end, settled } = openSink({ durable: true, maxRecords: 1 })
    write('a')
    const b = write('b')
    await end(0)
    expect(await settled(b)).toBe(true)
    expect(sink.dropped).toBe(1)
  })
})

describe('close', () => {
  test('writes the remaining records at once, even during a pause, and accepts no more', async () => {
    const { sink, write, tools, clock, end, settled } = openSink()
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

  test('stops at its limit, and logs what is lost', async () => {
    const { sink, write, clock, end, settled, log } = openSink()
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
