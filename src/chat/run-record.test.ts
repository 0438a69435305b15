import { describe, expect, test, vi } from 'vitest'
import { later, never } from '../core/fixtures/code-yard.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import { ModelError } from '../models/model-error.ts'
import { ManualClock, scripted } from '../testing/stand-ins.ts'
import { call, GO, loopSetup } from './fixtures/loop-setup.ts'
import type { ToolLoopOptions } from './tool-loop.ts'

/** A loop that records its runs. */
function keptYard(options: ToolLoopOptions = {}) {
  const runs: StoredRun[] = []
  return { ...loopSetup({ onRun: (run) => void runs.push(run), ...options }), runs }
}

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }

describe('RunRecord', () => {
  test('contains the caller, question, answer and every step with its time', async () => {
    const clock = new ManualClock()
    const { loop, add, runs } = keptYard({ clock })
    add('slow', ({ n }) => {
      clock.advance(250)
      return { n }
    })
    const model = scripted(
      () => {
        clock.advance(100)
        return { text: 'Wait.', ...call('slow', { n: 7 }), usage }
      },
      () => {
        clock.advance(40)
        return { text: 'It is 7.', usage }
      },
    )
    const context = { tenant: 'acme', caller: 'key-1', runId: 'run-1' }
    await loop.answer({ model, messages: GO, context, prices: { input: 5, output: 100 } })
    expect(runs).toEqual([
      {
        id: 'run-1',
        tenant: 'acme',
        caller: 'key-1',
        model: 'scripted:turns',
        service: 'scripted',
        started_at: '2026-01-01T00:00:00.000Z',
        duration_ms: 390,
        stop_reason: 'stop',
        iterations: 1,
        tool_calls: 1,
        prompt_tokens: 200,
        completion_tokens: 20,
        cost: 0.003,
        error: null,
        question: 'Go',
        answer: 'It is 7.',
        steps: [
          {
            type: 'model',
            iteration: 1,
            started_at: '2026-01-01T00:00:00.000Z',
            duration_ms: 100,
            finish_reason: 'tool_calls',
            text: 'Wait.',
            tool_calls: 1,
            prompt_tokens: 100,
            completion_tokens: 10,
            cost: 0.0015,
          },
          {
            type: 'tool',
            iteration: 1,
            started_at: '2026-01-01T00:00:00.100Z',
            duration_ms: 250,
            tool: 'slow',
            params: { n: 7 },
            result: { success: true, result: { n: 7 }, tool_name: 'slow', execution_time_ms: 250 },
          },
          {
            type: 'model',
            iteration: 2,
            started_at: '2026-01-01T00:00:00.350Z',
            duration_ms: 40,
            finish_reason: 'stop',
            text: 'It is 7.',
            tool_calls: 0,
            prompt_tokens: 100,
            completion_tokens: 10,
            cost: 0.0015,
          },
        ],
        recording: expect.any(String),
      },
    ])
  })

  test('is passed on before the answer event', async () => {
    const { loop, runs } = keptYard()
    for await (const event of loop.run({ model: scripted('Hi.'), messages: GO })) {
      if (event.type === 'answer') expect(runs).toHaveLength(1)
    }
    expect(runs).toHaveLength(1)
  })

  test("lists calls in the model's order", async () => {
    const { loop, add, runs } = keptYard()
    add('wait', async ({ ms }) => later(ms as number))
    const calls = [20, 1].map((ms) => ({ name: 'wait', arguments: { ms } }))
    await loop.answer({ model: scripted({ calls }, 'Done.'), messages: GO })
    expect(runs[0]?.steps.flatMap(({ params }) => (params ? [params] : []))).toEqual([{ ms: 20 }, { ms: 1 }])
  })

  test("contains the model's error", async () => {
    const { loop, runs } = keptYard()
    const model = scripted({ text: 'It is', error: new ModelError('openai:m: overloaded. Try later') })
    await loop.answer({ model, messages: GO })
    expect(runs).toMatchObject([
      {
        stop_reason: 'error',
        error: 'openai:m: overloaded. Try later',
        steps: [{ type: 'model', finish_reason: 'error', text: 'It is' }],
      },
    ])
  })

  test('contains the final request after a limit', async () => {
    const { loop, add, runs } = keptYard()
    add('tool', () => 1)
    await loop.answer({ model: scripted(call('tool'), 'I got 1.'), messages: GO, max_iterations: 1 })
    expect(runs).toMatchObject([{ stop_reason: 'max_iterations', iterations: 1 }])
    expect(runs[0]?.steps.at(-1)).toMatchObject({ type: 'model', iteration: 2, text: 'I got 1.' })
  })

  test('is created for a cancelled run', async () => {
    const { loop, add, runs } = keptYard()
    const controller = new AbortController()
    add('hang', () => {
      controller.abort()
      return never()
    })
    await loop.answer({ model: scripted(call('hang')), messages: GO, context: { signal: controller.signal } })
    expect(runs).toMatchObject([{ stop_reason: 'cancelled', tool_calls: 1 }])
    expect(runs[0]?.steps.at(-1)).toMatchObject({
      tool: 'hang',
      result: { error_code: 'CANCELLED', outcome: 'unknown' },
    })
  })

  test('waits for running calls when the caller leaves', async () => {
    const { loop, add, runs } = keptYard()
    add('quick', () => 1)
    add('hang', () => never())
    const model = scripted({ calls: [{ name: 'hang' }, { name: 'quick' }] })
    for await (const event of loop.run({ model, messages: GO })) if (event.type === 'call-result') break
    expect(runs).toMatchObject([{ stop_reason: 'cancelled', iterations: 1 }])
    expect(runs[0]?.steps.map(({ tool, result }) => [tool, (result as { success?: boolean })?.success])).toEqual([
      [undefined, undefined],
      ['hang', false],
      ['quick', true],
    ])
  })

  test('contains the partial answer when the caller leaves during a turn', async () => {
    const { loop, runs } = keptYard()
    for await (const _ of loop.run({ model: scripted('One two three'), messages: GO })) break
    expect(runs).toMatchObject([
      { stop_reason: 'cancelled', steps: [{ type: 'model', finish_reason: 'cancelled', text: 'One' }] },
    ])
  })

  test('contains no secrets and no long values', async () => {
    const { loop, add, runs } = keptYard()
    add('read', () => ({ text: 'x'.repeat(100_000), password: 'hunter2' }))
    add('list', () => Array.from({ length: 20 }, () => 'y'.repeat(400)))
    const secret = `sk-${'a'.repeat(40)}`
    const model = scripted(call('read', { api_key: secret }), call('list'), `${secret} ${'z'.repeat(10_000)}`)
    await loop.answer({ model, messages: [{ role: 'user', content: `My key is ${secret}` }] })
    const text = JSON.stringify(runs)
    expect(text).not.toContain(secret)
    expect(text).not.toContain('hunter2')
    expect(text.length - (runs[0]?.recording?.length ?? 0)).toBeLessThan(12_000)
    expect(runs[0]?.steps[1]).toMatchObject({ params: { api_key: '[redacted]' } })
    const shortened = expect.stringMatching(/^\["yyyy.*… \(\d+ characters\)$/)
    expect(runs[0]?.steps[3]?.result).toMatchObject({ success: true, result: shortened, tool_name: 'list' })
  })

  test('limits the number of steps', async () => {
    const { loop, add, runs } = keptYard()
    add('tool', () => 1)
    const calls = Array.from({ length: 300 }, (_, n) => ({ name: 'tool', arguments: { n } }))
    await loop.answer({ model: scripted({ calls }, 'Done.'), messages: GO })
    expect(runs).toMatchObject([{ tool_calls: 300 }])
    expect(runs[0]?.steps).toHaveLength(200)
  })

  test('logs an error if it cannot be stored', async () => {
    const onRun = vi.fn(() => {
      throw new Error('disk full')
    })
    const { loop, log } = loopSetup({ onRun })
    expect(await loop.answer({ model: scripted('Hi.'), messages: GO })).toMatchObject({ content: 'Hi.' })
    expect(onRun).toHaveBeenCalledTimes(1)
    expect(log.at('error')).toMatchObject([{ err: { message: 'disk full' } }])
  })
})

test('passes the model and run id to calls', async () => {
  const { loop, add, executor, records } = loopSetup()
  add('tool', () => 1)
  await loop.answer({ model: scripted(call('tool'), ''), messages: GO, context: { runId: 'run-1' } })
  executor.flush()
  expect(records).toMatchObject([{ model: 'scripted:turns', runId: 'run-1', source: 'loop' }])
})
