import { describe, expect, it } from 'vitest'
import { Cancellation } from '../core/cancellation.ts'
import { DeadlineWheel } from '../core/deadline-wheel.ts'
import type { ModelEvent } from '../models/model.ts'
import { ManualClock } from '../testing/stand-ins.ts'
import { TurnReader } from './turn-reader.ts'

type Next = () => Promise<IteratorResult<ModelEvent>>

const text = (word: string) => ({ done: false, value: { type: 'text-delta', text: word } }) as const
const finish = { done: false, value: { type: 'finish', reason: 'stop' } } as const
const hang: Next = () => new Promise(() => {})

/** A reader of a source that gives these reads, one after the other. */
function readerOf(...reads: readonly (Next | IteratorResult<ModelEvent>)[]) {
  const [clock, signal] = [new ManualClock(), new Cancellation()]
  const asked = { reads: 0, returns: 0 }
  const source = {
    next() {
      const read = reads[asked.reads++] ?? finish
      return typeof read === 'function' ? read() : Promise.resolve(read)
    },
    async return() {
      asked.returns++
      return { done: true, value: undefined } as const
    },
  }
  const model = { id: 'test:model', stream: () => ({ [Symbol.asyncIterator]: () => source }) }
  const turn = new TurnReader(model, { messages: [], tools: [] }, signal, { clock, wheel: new DeadlineWheel(clock) })
  return { turn, clock, signal, asked }
}

const messageOf = ({ failure }: TurnReader) => (failure?.thrown as Error | undefined)?.message

describe('A turn that is read event by event', () => {
  it('gives each event, then undefined, also when it is asked again', async () => {
    const { turn, asked } = readerOf(text('a'), text('b'), finish, text('never'))
    const read = [await turn.read(true), await turn.read(true), await turn.read(true), await turn.read(true)]
    expect(read).toEqual([text('a').value, text('b').value, undefined, undefined])
    expect([turn.text, turn.reason, turn.failure, asked]).toEqual(['ab', 'stop', undefined, { reads: 3, returns: 1 }])
  })

  it('is over if it is cancelled between two reads', async () => {
    const { turn, signal, asked } = readerOf(text('a'), text('b'))
    await turn.read(true)
    signal.abort('left')
    expect(await turn.read(true)).toBeUndefined()
    expect([turn.text, turn.failure, asked]).toEqual(['a', { thrown: 'left' }, { reads: 1, returns: 1 }])
  })

  it('counts no silence while nobody reads', async () => {
    const { turn, clock } = readerOf(text('a'), text('b'))
    await turn.read(true)
    clock.advance(1_000_000)
    expect([await turn.read(true), turn.failure]).toEqual([text('b').value, undefined])
  })
})

describe('A turn that is read at once', () => {
  it('gives no event, and its source is asked no further than its end', async () => {
    const { turn, asked } = readerOf(text('a'), text('b'), finish, text('never'))
    expect(await turn.read(false)).toBeUndefined()
    expect([turn.text, turn.reason, turn.failure, asked]).toEqual(['ab', 'stop', undefined, { reads: 3, returns: 1 }])
  })
})

describe.each([true, false])('A turn (event by event: %s)', (wantsEach) => {
  /** Reads until the turn is over. */
  const end = async (turn: TurnReader) => {
    while ((await turn.read(wantsEach)) !== undefined);
  }

  it.each<[string, readonly (Next | IteratorResult<ModelEvent>)[], string]>([
    ['ends without finish', [{ done: true, value: undefined }], 'Model test:model stopped in mid-answer. Try again'],
    ['fails', [() => Promise.reject(new Error('broken'))], 'broken'],
    [
      'throws at once',
      [
        () => {
          throw new Error('broken')
        },
      ],
      'broken',
    ],
    ['gives something else than a promise', [(() => 5) as never], 'events.next(...).then is not a function'],
    [
      'gives no result',
      [() => Promise.resolve(undefined as never)],
      "Cannot read properties of undefined (reading 'done')",
    ],
    [
      'gives no event',
      [{ done: false, value: undefined as never }],
      "Cannot read properties of undefined (reading 'type')",
    ],
  ])('whose source %s fails, and keeps its text', async (_, reads, message) => {
    const { turn, asked } = readerOf(text('a'), ...reads, text('never'))
    await end(turn)
    expect([turn.text, messageOf(turn), asked]).toEqual(['a', message, { reads: 2, returns: 1 }])
  })

  it('can be cancelled though its source hangs, and ignores what comes later', async () => {
    const late = Promise.withResolvers<IteratorResult<ModelEvent>>()
    const { turn, signal, asked } = readerOf(text('a'), () => late.promise)
    const ended = end(turn)
    await Promise.resolve()
    setImmediate(() => signal.abort('left'))
    await ended
    late.resolve(text('late'))
    await late.promise
    signal.abort('again')
    expect([turn.text, turn.failure, asked]).toEqual(['a', { thrown: 'left' }, { reads: 2, returns: 1 }])
  })

  it('ignores a failure that comes after it was cancelled', async () => {
    const late = Promise.withResolvers<IteratorResult<ModelEvent>>()
    const { turn, signal } = readerOf(() => late.promise)
    const ended = end(turn)
    signal.abort('left')
    await ended
    late.reject(new Error('late'))
    await late.promise.catch(() => {})
    expect(turn.failure).toEqual({ thrown: 'left' })
  })

  it('is over from the beginning if it was cancelled before', async () => {
    const signal = new Cancellation()
    signal.abort('left')
    const clock = new ManualClock()
    const model = { id: 'test:model', async *stream() {} }
    const turn = new TurnReader(model, { messages: [], tools: [] }, signal, { clock, wheel: new DeadlineWheel(clock) })
    await end(turn)
    expect(turn.failure).toEqual({ thrown: 'left' })
  })

  it('ends when its source has been silent for five minutes', async () => {
    const { turn, clock } = readerOf(text('a'), hang)
    const ended = end(turn)
    // Until the second read.
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(301_000)
    await ended
    expect(messageOf(turn)).toBe('Model test:model sent nothing for 300 s. Try again')
  })

  it('whose model has no stream fails', async () => {
    const [clock, signal] = [new ManualClock(), new Cancellation()]
    const streams = { [Symbol.asyncIterator]: () => undefined as never }
    const model = { id: 'test:model', stream: () => streams }
    const turn = new TurnReader(model, { messages: [], tools: [] }, signal, { clock, wheel: new DeadlineWheel(clock) })
    await end(turn)
    expect(turn.failure?.thrown).toBeInstanceOf(TypeError)
  })
})
