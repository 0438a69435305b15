import { describe, expect, test, vi } from 'vitest'
import { later, never } from '../core/fixtures/code-yard.ts'
import type { Model, ModelEvent } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { ManualClock, scripted } from '../testing/stand-ins.ts'
import { call, GO, loopSetup, told, wellFormed } from './fixtures/loop-setup.ts'

/** A model that stops sending events and ignores its signal. */
const deaf = (...first: ModelEvent[]): Model => ({
  id: 'deaf:model',
  async *stream() {
    yield* first
    await never()
  },
})

test('a model that talks without end ends the run with an error', async () => {
  const endless: Model = {
    id: 'endless:model',
    async *stream() {
      for (;;) yield { type: 'text-delta', text: 'x'.repeat(1e6) }
    },
  }
  const { answer } = await told(loopSetup().loop.run({ model: endless, messages: GO }))
  expect(answer).toMatchObject({ stop_reason: 'error', error_status: 502 })
  expect(answer.error).toBe(
    'The model answered with more than 4194304 characters, which is over the limit. Ask for less.',
  )
})

test('a call that the provider sends twice runs once; one with other arguments runs too', async () => {
  const { loop, add } = loopSetup()
  const ran: unknown[] = []
  add('pay', async ({ to }) => void ran.push(to))
  const asked = (to: string): ModelEvent => {
    const made = { name: 'pay', arguments: JSON.stringify({ to }) }
    return { type: 'tool-call-end', call: { id: 'call_1', type: 'function', function: made } }
  }
  const turns: ModelEvent[][] = [
    [asked('Ada'), asked('Ada'), asked('Bob'), { type: 'finish', reason: 'tool_calls' }],
    [
      { type: 'text-delta', text: 'Done.' },
      { type: 'finish', reason: 'stop' },
    ],
  ]
  const model: Model = {
    id: 'repeating:model',
    async *stream() {
      yield* turns.shift() ?? []
    },
  }
  const { answer, messages } = await told(loop.run({ model, messages: GO }))
  expect(ran).toEqual(['Ada', 'Bob'])
  expect(answer.tool_calls).toHaveLength(2)
  expect(wellFormed(messages)).toBe(true)
})

describe('the events of a run', () => {
  test('include text, calls, progress and results as they happen, and the answer last', async () => {
    const { loop, add } = loopSetup()
    add('count', async (_, { report }) => {
      report('half')
      await later(1)
      return 2
    })
    const { events, messages } = await told(
      loop.run({ model: scripted({ text: 'Wait.', ...call('count') }, 'It is 2.'), messages: GO }),
    )
    expect(events.map(({ type }) => type)).toEqual([
      'text-delta',
      'tool-call-start',
      'tool-call-delta',
      'tool-call-delta',
      'tool-call-end',
      'call-progress',
      'call-result',
      'text-delta',
      'text-delta',
      'text-delta',
      'answer',
    ])
    expect(events[5]).toMatchObject({ id: 'call_1', tool: 'count', progress: 'half' })
    expect(messages.at(-1)).toEqual({ role: 'assistant', content: 'It is 2.' })
    expect(wellFormed(messages)).toBe(true)
  })

  test('include results in order of completion', async () => {
    const { loop, add } = loopSetup()
    add('wait', async ({ ms }) => later(ms as number))
    const calls = [30, 1].map((ms) => ({ name: 'wait', arguments: { ms } }))
    const { events, answer } = await told(loop.run({ model: scripted({ calls }, ''), messages: GO }))
    const results = events.filter((event) => event.type === 'call-result')
    expect(results.map(({ call: { params } }) => params)).toEqual([{ ms: 1 }, { ms: 30 }])
    expect(answer.tool_calls.map(({ params }) => params)).toEqual([{ ms: 30 }, { ms: 1 }])
  })

  test('return provider metadata of turns and calls to the provider', async () => {
    const { loop, add } = loopSetup()
    add('tool', () => 1)
    const calls = [{ name: 'tool', metadata: { signature: 'abc' } }]
    const model = scripted({ calls, metadata: { reasoning: ['r1'] } }, 'Done.')
    await loop.answer({ model, messages: GO })
    expect(model.requests[1]?.messages[1]).toMatchObject({
      metadata: { reasoning: ['r1'] },
      tool_calls: [{ metadata: { signature: 'abc' } }],
    })
  })

  test('mark recovered calls', async () => {
    const { loop, add } = loopSetup()
    add('tool', () => 1)
    const calls = [
      { name: 'tool', metadata: { recovered: true } },
      { name: 'tool', arguments: { a: 1 } },
    ]
    const { tool_calls } = await loop.answer({ model: scripted({ calls }, 'Done.'), messages: GO })
    expect(tool_calls.map(({ recovered }) => recovered)).toEqual([true, undefined])
  })

  test('treats empty arguments as an empty object', async () => {
    const { loop, add } = loopSetup()
    const run = vi.fn(() => 1)
    add('tool', run)
    const { tool_calls } = await loop.answer({ model: scripted(call('tool', ''), 'Done.'), messages: GO })
    expect(tool_calls).toMatchObject([{ params: {}, result: { success: true } }])
  })

  test('sum up usage and cost', async () => {
    const { loop, add } = loopSetup()
    add('tool', () => 1)
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
    const model = scripted({ ...call('tool'), usage }, { text: 'Done.', usage })
    const answer = await loop.answer({ model, messages: GO, prices: { input: 5, output: 100 } })
    expect(answer.usage).toEqual({ prompt_tokens: 200, completion_tokens: 20, total_tokens: 220 })
    expect(answer.cost).toBeCloseTo(0.003)
  })
})

describe('a model that fails', () => {
  test('returns its error message and partial text', async () => {
    const { loop } = loopSetup()
    const model = scripted({ text: 'It is', error: new ModelError('openai:m: overloaded. Try later') })
    expect(await loop.answer({ model, messages: GO })).toMatchObject({
      content: 'It is',
      stop_reason: 'error',
      error: 'openai:m: overloaded. Try later',
    })
  })

  test('logs unexpected errors but does not return them', async () => {
    const { loop, log } = loopSetup()
    const answer = await loop.answer({ model: scripted(new Error('connect 10.0.0.1:443')), messages: GO })
    expect(JSON.stringify(answer)).not.toContain('10.0.0.1')
    expect(answer.error).toContain('scripted:turns failed')
    expect(log.at('error')).toHaveLength(1)
  })

  test('logs no message of an error that may repeat what may not be logged', async () => {
    const error = new ModelError('openai:m: cannot read {"city":"Oslo"}', { status: 400, cause: new Error('Oslo') })
    const logged = async (mayHold: boolean) => {
      const { loop, log } = loopSetup({ logged: () => mayHold })
      await loop.answer({ model: scripted(error), messages: GO })
      return log.at('error')
    }
    expect(await logged(false)).toEqual([{ model: 'scripted:turns', reason: 'ModelError 400' }])
    expect(await logged(true)).toEqual([{ model: 'scripted:turns', err: error }])
  })

  test.each<[string, Model]>([
    ['throws before it streams', { id: 'a:b', stream: () => assertNever() }],
    ['ends without a finish', { id: 'a:b', async *stream() {} }],
    ['streams nothing that can be read', { id: 'a:b', stream: () => ({}) as never }],
  ])('ends the run with an answer if it %s', async (_, model) => {
    const { loop } = loopSetup()
    expect(await loop.answer({ model, messages: GO })).toMatchObject({ stop_reason: 'error' })
  })

  test('does not run an incomplete call', async () => {
    const { loop, add } = loopSetup()
    const run = vi.fn()
    add('tool', run)
    const model: Model = {
      id: 'a:b',
      async *stream() {
        yield { type: 'tool-call-start', id: '1', name: 'tool' }
        yield { type: 'tool-call-delta', id: '1', text: '{}' }
        yield { type: 'finish', reason: 'length' }
      },
    }
    expect(await loop.answer({ model, messages: GO })).toMatchObject({ stop_reason: 'length', tool_calls: [] })
    expect(run).not.toHaveBeenCalled()
  })

  test('times out a silent model', async () => {
    const clock = new ManualClock()
    const { loop } = loopSetup({ clock })
    const run = loop.answer({ model: deaf({ type: 'text-delta', text: 'Well' }), messages: GO })
    await later(1)
    await clock.advance(290_000)
    await clock.advance(20_000)
    expect(await run).toMatchObject({ content: 'Well', stop_reason: 'error', error: expect.stringContaining('300 s') })
  })
})

describe('cancelling', () => {
  test('cancels running calls and keeps their results', async () => {
    const { loop, add } = loopSetup({ maxParallelCalls: 2 })
    const caller = new AbortController()
    const aborted: unknown[] = []
    add('hang', ({ n }, { signal }) => {
      signal.addEventListener('abort', () => aborted.push(n))
      if (n === 1) setImmediate(() => caller.abort())
      return never()
    })
    const calls = [0, 1, 2].map((n) => ({ name: 'hang', arguments: { n } }))
    const model = scripted({ calls }, 'Never said.')
    const { answer, messages } = await told(loop.run({ model, messages: GO, context: { signal: caller.signal } }))
    expect(answer).toMatchObject({ stop_reason: 'cancelled', content: expect.stringContaining('cancelled') })
    expect(answer.tool_calls.map(({ result }) => !result.success && result.error_code)).toEqual(
      Array(3).fill('CANCELLED'),
    )
    expect(aborted).toEqual([0, 1])
    expect(wellFormed(messages)).toBe(true)
    expect(model.requests).toHaveLength(1)
  })

  test('ends the turn of a model that ignores its signal', async () => {
    const { loop } = loopSetup()
    const caller = new AbortController()
    const run = told(loop.run({ model: deaf(), messages: GO, context: { signal: caller.signal } }))
    setImmediate(() => caller.abort())
    const { answer, messages } = await run
    expect(answer.stop_reason).toBe('cancelled')
    expect(wellFormed(messages)).toBe(true)
  })

  test('cancels a run in its last iteration', async () => {
    const { loop, add } = loopSetup()
    const caller = new AbortController()
    add('stop', () => caller.abort())
    const run = { model: scripted(call('stop'), 'Never said.'), messages: GO, max_iterations: 1 }
    const answer = await loop.answer({ ...run, context: { signal: caller.signal } })
    expect(answer.stop_reason).toBe('cancelled')
  })

  test('leaving a run cancels its calls', async () => {
    const { loop, add } = loopSetup()
    const ended = vi.fn()
    add('hang', (_, { signal }) => {
      signal.addEventListener('abort', ended)
      return never()
    })
    add('quick', () => 1)
    const calls = [{ name: 'quick' }, { name: 'hang' }]
    for await (const event of loop.run({ model: scripted({ calls }, ''), messages: GO })) {
      if (event.type === 'call-result') break
    }
    await later(1)
    expect(ended).toHaveBeenCalledOnce()
  })

  test('removes listeners from a signal that outlives runs', async () => {
    const { loop, add } = loopSetup()
    add('tool', () => 1)
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    await loop.answer({ model: scripted(call('tool'), 'Done.'), messages: GO, context: { signal } })
    expect(added.mock.calls.length).toBeGreaterThan(0)
    expect(removed.mock.calls).toHaveLength(added.mock.calls.length)
  })
})

describe('repeated calls', () => {
  test('end the run when two calls keep alternating', async () => {
    const { loop, add } = loopSetup()
    const run = vi.fn(() => 1)
    add('a', run)
    add('b', run)
    const [a, b] = [call('a'), call('b')]
    const model = scripted(a, b, a, b, a, b, 'I stop here.')
    const answer = await loop.answer({ model, messages: GO, max_iterations: 10 })
    expect(answer).toMatchObject({ stop_reason: 'repeated_calls', content: 'I stop here.' })
    expect(answer.tool_calls[4]?.result).toMatchObject({ error: expect.stringContaining('keep alternating') })
    expect(run).toHaveBeenCalledTimes(4)
  })

  test('end the run when a tool keeps failing with the same error', async () => {
    const { loop, add } = loopSetup()
    const run = vi.fn(() => {
      throw new Error('no such table')
    })
    add('query', run)
    const tries = [1, 2, 3, 4, 5].map((n) => call('query', { n }))
    const answer = await loop.answer({ model: scripted(...tries, 'I give up.'), messages: GO, max_iterations: 10 })
    expect(answer).toMatchObject({ stop_reason: 'repeated_calls', content: 'I give up.' })
    expect(answer.tool_calls[3]?.result).toMatchObject({ error: expect.stringContaining('same error') })
    expect(run).toHaveBeenCalledTimes(3)
  })

  test('start over after a success or another error', async () => {
    const { loop, add } = loopSetup()
    add('query', ({ n }) => {
      if (n === 3) return 1
      throw new Error(n === 6 ? 'other' : 'same')
    })
    const tries = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => call('query', { n }))
    const answer = await loop.answer({ model: scripted(...tries, 'Done.'), messages: GO, max_iterations: 10 })
    expect(answer).toMatchObject({ stop_reason: 'stop', content: 'Done.' })
    expect(answer.tool_calls.filter(({ result }) => !result.success)).toHaveLength(7)
  })

  test('accept deeply nested parameters', async () => {
    const { loop, add } = loopSetup()
    add('tool', () => 1)
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    const { tool_calls } = await loop.answer({ model: scripted(call('tool', deep), 'Done.'), messages: GO })
    expect(tool_calls[0]?.result).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
  })
})

function assertNever(): never {
  throw new Error('no')
}
