import { expect, test, vi } from 'vitest'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { type CallRecord, Recorder } from './recorder.ts'

const record = (nodes = 1) => ({ tool: 'tool', nodes }) as CallRecord

function recording() {
  const batches: (readonly CallRecord[])[] = []
  const write = vi.fn(({ records }: { records: readonly CallRecord[] }) => void batches.push(records))
  return { batches, recorder: new Recorder(new ManualClock(), captureLog(), [{ write }]) }
}

test('passes records on asynchronously, in order', async () => {
  const { batches, recorder } = recording()
  const [first, second] = [record(), record()]
  recorder.add(first)
  recorder.add(second)
  expect(batches).toEqual([])
  await new Promise((resolve) => setImmediate(resolve))
  expect(batches).toEqual([[first, second]])
})

test('flushes a batch when it has many records or values', () => {
  const { batches, recorder } = recording()
  for (let n = 0; n < 32; n++) recorder.add(record())
  expect(batches.map((batch) => batch.length)).toEqual([32])
  for (let n = 0; n < 4; n++) recorder.add(record(50_000))
  expect(batches.map((batch) => batch.length)).toEqual([32, 4])
})

test('passes each record on once', () => {
  const { batches, recorder } = recording()
  recorder.add(record())
  recorder.flush()
  recorder.flush()
  expect(batches).toHaveLength(1)
})

test('converts all batches to the time of day alike, until the time of day is set', () => {
  const epochs: number[] = []
  let [wall, now, interruptedMs] = [1_000, 0.9, 0]
  const clock = Object.assign(new ManualClock(), {
    now: () => now,
    wall() {
      now += interruptedMs
      wall += interruptedMs
      return Math.floor(wall)
    },
  })
  const recorder = new Recorder(clock, captureLog(), [{ write: ({ epoch }) => void epochs.push(epoch) }])
  const flush = () => {
    recorder.add(record())
    recorder.flush()
  }
  flush()
  now = 1.8
  wall = 1_000.9
  flush()
  interruptedMs = 10
  flush()
  interruptedMs = 0
  wall += 60_000
  flush()
  expect(epochs).toEqual([999.1, 999.1, 999.1, 61_010 - 11.8])
})
