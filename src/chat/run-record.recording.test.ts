import { describe, expect, test } from 'vitest'
import { image, PNG } from '../core/fixtures/media.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import type { Message } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { type GivenTurn, ManualClock, scripted } from '../testing/stand-ins.ts'
import { call, GO, loopSetup } from './fixtures/loop-setup.ts'
import type { RunRequest } from './run.ts'
import type { RunRecording } from './run-record.ts'

/** The recording of a run whose tools return their parameters. */
async function recorded(turns: readonly GivenTurn[], more: Partial<RunRequest> = {}): Promise<RunRecording> {
  const runs: StoredRun[] = []
  const { loop, add } = loopSetup({ onRun: (run) => void runs.push(run), clock: new ManualClock() })
  add('echo', (params) => params)
  add('long', () => 'x'.repeat(70_000))
  await loop.answer({ model: scripted(...turns), messages: GO, ...more })
  return JSON.parse(runs[0]?.recording ?? 'null')
}

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }

describe('the recording of a run', () => {
  test('has short texts in place of media', async () => {
    const runs: StoredRun[] = []
    const { loop, add, log } = loopSetup({ onRun: (run) => void runs.push(run) })
    add('see', () => ({ content: [image] }))
    const model = { ...scripted(call('see'), 'Grey.'), accepts: { types: ['image/png'] } }
    const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] }]
    await loop.answer({ model, messages })
    const short = '[image image/png, 67 bytes]'
    expect(model.requests[1]?.messages.at(-1)?.content).toEqual([
      { type: 'text', text: expect.stringContaining(short) },
      image,
    ])
    expect(JSON.stringify([runs, log.lines])).not.toContain(PNG)
    expect(runs[0]?.question).toBe(`What is it?\n${short}`)
    expect(runs[0]?.steps[1]).toMatchObject({ result: { result: { content: [short] } } })
    const { request, calls }: RunRecording = JSON.parse(runs[0]?.recording ?? 'null')
    expect(request.messages[0]?.content).toBe(`What is it?\n${short}`)
    expect(calls[0]?.result).toMatchObject({ result: { content: [short] } })
  })

  test('contains the request, every turn, every call and the answer', async () => {
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'assistant', content: null, tool_calls: [], metadata: { signature: 'only the provider knows' } },
      ...GO,
    ]
    const said = 'y'.repeat(3_000)
    const more = { messages, max_tokens: 50, budget: { tokens: 100_000 } }
    const recording = await recorded([{ text: 'Wait.', ...call('echo', { text: said }), usage }, 'Done.'], more)
    expect(recording).toEqual({
      incomplete: [],
      request: {
        messages: [messages[0], { role: 'assistant', content: null, tool_calls: [] }, messages[2]],
        offered: ['echo', 'long'],
        tools: [{ name: 'echo', description: expect.any(String), parameters: expect.any(Object) }],
        max_iterations: 5,
        max_tokens: 50,
        budget: { tokens: 100_000 },
      },
      turns: [
        {
          text: 'Wait.',
          calls: [{ id: 'call_1', name: 'echo', arguments: JSON.stringify({ text: said }) }],
          finish_reason: 'tool_calls',
          usage,
          started_ms: 0,
          duration_ms: 0,
        },
        { text: 'Done.', calls: [], finish_reason: 'stop', started_ms: 0, duration_ms: 0 },
      ],
      calls: [
        {
          tool: 'echo',
          params: { text: said },
          result: { success: true, result: { text: said }, tool_name: 'echo', execution_time_ms: 0 },
          iteration: 1,
          index: 0,
          started_ms: 0,
          duration_ms: 0,
        },
      ],
      answer: { content: 'Done.', stop_reason: 'stop' },
    })
  })

  test('contains no secrets', async () => {
    const secret = `sk-${'a'.repeat(40)}`
    const messages: Message[] = [
      { role: 'user', content: `My key is ${secret}` },
      {
        role: 'tool',
        tool_call_id: '1',
        name: 'echo',
        content: JSON.stringify({ text: JSON.stringify({ cookie: 'biscuit' }) }),
      },
    ]
    const recording = await recorded([call('echo', { credential: 'hunter2', n: 1 }), `It is ${secret}`], { messages })
    const text = JSON.stringify(recording)
    for (const one of [secret, 'hunter2', 'biscuit']) expect(text).not.toContain(one)
    expect(recording.turns[0]?.calls[0]?.arguments).toBe('{"credential":"[redacted]","n":1}')
    expect(recording.calls[0]?.params).toEqual({ credential: '[redacted]', n: 1 })
  })

  test('lists what was left out', async () => {
    const recording = await recorded([call('long'), 'z'.repeat(66_000)])
    expect(recording.incomplete).toEqual([
      'Left out a result of more than 65536 characters.',
      'Left out a model response of more than 65536 characters.',
      'Left out the answer of more than 65536 characters.',
    ])
    expect(recording.calls[0]?.result).toMatchObject({ success: true, result: '[70002 characters left out]' })
    expect(recording.turns[1]?.text).toBe('[66000 characters left out]')
  })

  test('has a maximum size', async () => {
    const calls = Array.from({ length: 8 }, (_, n) => ({ name: 'echo', arguments: { n, text: 'x'.repeat(30_000) } }))
    const recording = await recorded([{ calls }, 'Done.'])
    expect(JSON.stringify(recording).length).toBeLessThan(270_000)
    expect(recording.incomplete).toEqual(['Left out everything after the first 262144 characters.'])
  })

  test("contains the model's error message", async () => {
    const broken = await recorded([{ text: 'It', error: new ModelError('a:b: overloaded. Try later') }])
    expect(broken.turns).toMatchObject([{ text: 'It', finish_reason: 'error', error: 'a:b: overloaded. Try later' }])
    const thrown = await recorded([new Error('connect 10.0.0.7:443')])
    expect(thrown.turns[0]).not.toHaveProperty('error')
    expect(thrown.answer).toMatchObject({ stop_reason: 'error' })
  })

  test('contains refused and recovered calls', async () => {
    const printed = { calls: [{ name: 'echo', metadata: { recovered: true } }] }
    const recording = await recorded([printed, call('echo'), call('echo'), 'Done.'])
    expect(recording.calls.map(({ recovered, not_run }) => [recovered, not_run])).toEqual([
      [true, undefined],
      [undefined, undefined],
      [undefined, true],
    ])
    expect(recording.turns[0]?.calls).toMatchObject([{ recovered: true }])
  })
})
