import { describe, expect, test } from 'vitest'
import { call, GO, loopSetup } from '../../chat/fixtures/loop-setup.ts'
import type { RunRequest } from '../../chat/run.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { ModelError } from '../../models/model-error.ts'
import { type GivenTurn, scripted } from '../../testing/stand-ins.ts'
import { type Cassette, CassetteError, runCassette } from './cassette.ts'
import { replayCassette } from './replay-cassette.ts'

const schema = { type: 'object', properties: { n: { type: 'number' }, token: { type: 'number' } } }

/** The cassette of a run, read from JSON, and the parameters of its calls. */
async function recorded(turns: readonly GivenTurn[] | RunRequest['model'], more: Partial<RunRequest> = {}) {
  const runs: StoredRun[] = []
  const made: unknown[] = []
  const { loop, add } = loopSetup({ onRun: (run) => void runs.push(run) })
  const run = (name: string, handler: (params: Record<string, unknown>) => unknown, rest = {}) =>
    add(
      name,
      (params) => {
        made.push(params)
        return handler(params)
      },
      rest,
    )
  run('add', ({ n }) => Number(n) + 1, { parameters: schema })
  run('get_weather', ({ location }) => ({ condition: 'sunny', location }))
  run('fail', () => {
    throw new ToolExecutionError('SERVICE_UNAVAILABLE', 'Down. Try later', { outcome: 'unknown' })
  })
  run(
    'slow',
    () => {
      throw new ToolExecutionError('TIMEOUT', 'Too slow')
    },
    { effect: 'read' },
  )
  const model = 'stream' in turns ? turns : scripted(...turns)
  const answer = await loop.answer({ model, messages: GO, context: { runId: 'run-1' }, ...more })
  const cassette: Cassette = JSON.parse(JSON.stringify(runCassette(runs[0] as StoredRun)))
  return { cassette, answer, made }
}

const PARALLEL = [
  {
    text: 'Let me see.',
    calls: [
      { name: 'add', arguments: { n: 1 } },
      { name: 'add', arguments: { n: 2 } },
    ],
  },
  call('get_weather', { location: 'Paris' }),
  'Done.',
]

const withoutTimes = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, one) => (key === 'execution_time_ms' ? undefined : one)))

describe('a replay', () => {
  test.each(['strict', 'loose'] as const)(
    '%s: reproduces the answer and the calls without running tools',
    async (mode) => {
      const { cassette, answer, made } = await recorded(PARALLEL)
      expect(cassette).toMatchObject({ cassette: 1, complete: true, run_id: 'run-1', model: 'scripted:turns' })
      const before = made.length
      const replayed = await replayCassette(cassette, { mode })
      expect(withoutTimes(replayed.answer.tool_calls)).toMatchObject(withoutTimes(answer.tool_calls) as object)
      expect(replayed.answer).toMatchObject({
        content: 'Done.',
        stop_reason: 'stop',
        service: 'scripted',
        model: 'turns',
      })
      expect([made.length, replayed.unused]).toEqual([before, 0])
    },
  )

  const secret = { calls: [{ name: 'add', arguments: { n: 1, token: 12345 } }] }
  test.each<[string, readonly GivenTurn[], Partial<RunRequest>]>([
    ['tools that fail', [call('fail'), call('slow'), 'Sorry.'], {}],
    ['wrong parameters', [call('add', { n: 'x' }), call('add', { n: 1 }), 'Done.'], {}],
    ['arguments that are not JSON', [call('add', '{"n": '), 'Done.'], {}],
    ['tools that are not there', [call('ad', { n: 1 }), 'Done.'], {}],
    ['a tool that was not offered', [call('add', { n: 1 }), 'Done.'], { allowed_tools: ['fail'] }],
    ['calls that are not run', [...Array(3).fill(call('add', { n: 1 })), 'Done.'], {}],
    ['repeated calls that end it', [...Array(4).fill(call('add', { n: 1 })), 'I give up.'], {}],
    ['the limit', [call('add', { n: 1 }), 'I got 2.'], { max_iterations: 1 }],
    ['a model that fails', [call('add', { n: 1 }), { text: 'It', error: new ModelError('a:b: busy. Wait') }], {}],
    ['a model that breaks', [new Error('connect 10.0.0.7')], {}],
    ['a budget', [{ ...call('add', { n: 1 }), usage: usage(900) }, 'Never.'], { budget: { tokens: 2_000 } }],
    ['an answer cut short', [{ text: 'It is', reason: 'length' }], {}],
    ['a printed call', [{ calls: [{ name: 'add', arguments: { n: 1 }, metadata: { recovered: true } }] }, 'Done.'], {}],
    ['secrets of another type', [secret, 'Done.'], {}],
    ['tools of the client', [call('theirs', { a: 1 })], { client_tools: [client()] }],
    ['no tools at all', ['Hello.'], { allowed_tools: [] }],
  ])('strict: of a run with %s', async (_, turns, more) => {
    const { cassette, answer } = await recorded(turns, more)
    expect(cassette.incomplete).toEqual([])
    const { answer: again } = await replayCassette(cassette)
    const { content, stop_reason, error, final_answer, client_calls } = answer
    expect(again).toMatchObject({
      content,
      stop_reason,
      ...(error && { error }),
      ...(final_answer && { final_answer }),
      ...(client_calls && { client_calls }),
    })
    expect(again.tool_calls.map(({ tool, iteration }) => [tool, iteration])).toEqual(
      answer.tool_calls.map(({ tool, iteration }) => [tool, iteration]),
    )
  })

  test('strict: of a run that was cancelled, in a call and in a turn', async () => {
    const controller = new AbortController()
    const cancel = (): string => {
      controller.abort()
      return 'Never.'
    }
    const context = { runId: 'run-1', signal: controller.signal }
    const { cassette } = await recorded([call('add', { n: 1 }), cancel], { context })
    expect(cassette.answer.stop_reason).toBe('cancelled')
    expect((await replayCassette(cassette)).answer).toMatchObject({ stop_reason: 'cancelled' })
  })

  test('strict: with a call before the first model request', async () => {
    const result = { success: true, result: 2, tool_name: 'add', execution_time_ms: 1 } as const
    const prior_calls = [{ tool: 'add', params: { n: 1 }, result, iteration: 0 }]
    const { cassette } = await recorded(['It is 2.'], { prior_calls })
    const { answer } = await replayCassette(cassette)
    expect(answer.tool_calls).toMatchObject([{ tool: 'add', iteration: 0 }])
  })
})

describe('a changed cassette', () => {
  interface Turn {
    text: string
    calls: [{ name: string; arguments: string }, { arguments: string }]
    finish_reason: string
  }
  type Edit = (cassette: { turns: [Turn, Turn, Turn, ...object[]]; calls: object[] }) => void
  const edited = async (edit: Edit): Promise<Cassette> => {
    const { cassette } = await recorded(PARALLEL)
    edit(cassette as unknown as Parameters<Edit>[0])
    return cassette
  }

  test.each<[string, Edit, string]>([
    [
      'other arguments',
      ({ turns }) => {
        turns[0].calls[1].arguments = '{"n":3}'
      },
      'in turn 1, add is called with {"n":3}, but the cassette has add with {"n":2}',
    ],
    [
      'another tool',
      ({ turns }) => {
        turns[1].calls[0].name = 'add'
      },
      'in turn 2, add is called with {"location":"Paris"}, but the cassette has get_weather with {"location":"Paris"}',
    ],
    [
      'calls in another order',
      ({ turns }) => {
        turns[0].calls.reverse()
      },
      'in turn 2, message 3 was add giving {"result":2,"success":true,"tool_name":"add"}, but is now add giving {"result":3,',
    ],
    [
      'a call that is gone',
      ({ calls }) => {
        calls.pop()
      },
      'in turn 2, get_weather is called with {"location":"Paris"}, but the cassette has no more calls',
    ],
    [
      'a turn that is gone',
      ({ turns }) => {
        turns.pop()
      },
      'in turn 3, the model gets one more request than in the run',
    ],
    [
      'a turn that is new',
      ({ turns }) => {
        turns.push({ text: 'More.', calls: [], finish_reason: 'stop' })
      },
      'in turn 3, the run ended, but the cassette has 4 turns',
    ],
    [
      'another answer',
      ({ turns }) => {
        turns[2].text = 'Finished.'
      },
      'in turn 3, the content of the answer was "Done.", but is now "Finished."',
    ],
  ])('%s makes a strict replay fail, with its place', async (_, edit, problem) => {
    const replayed = replayCassette(await edited(edit))
    await expect(replayed).rejects.toThrow(CassetteError)
    await expect(replayed).rejects.toThrow(`The replay of run 'run-1' differs from the run: ${problem}`)
  })

  test('loose: accepts any order, and counts unused calls', async () => {
    const cassette = await edited(({ turns }) => {
      turns[0].calls.reverse()
      turns.splice(1, 1)
    })
    const { answer, unused } = await replayCassette(cassette, { mode: 'loose' })
    expect(answer.tool_calls.map(({ params, result }) => [params, result.success && result.result])).toEqual([
      [{ n: 2 }, 3],
      [{ n: 1 }, 2],
    ])
    expect(unused).toBe(1)
  })

  test('loose: a call that was not recorded fails, and lists the recorded ones', async () => {
    const cassette = await edited(({ turns }) => {
      turns[1].calls[0].arguments = '{"location":"Oslo"}'
    })
    await expect(replayCassette(cassette, { mode: 'loose' })).rejects.toThrow(
      'get_weather is called with {"location":"Oslo"}, but the cassette has get_weather with {"location":"Paris"}',
    )
  })

  test.each<[string, unknown, string]>([
    ['no cassette', {}, 'This isn\'t a cassette: it has no version under "cassette"'],
    ['nothing', null, "This isn't a cassette"],
    ['another version', { cassette: 2 }, 'The cassette has version 2, but this Toolyard reads version 1'],
    ['half of one', { cassette: 1 }, "The cassette is invalid: missing 'run_id'"],
  ])('%s is rejected', async (_, value, problem) => {
    await expect(replayCassette(value as Cassette)).rejects.toThrow(problem)
  })
})

test('an incomplete cassette can only be replayed in loose mode', async () => {
  const { cassette } = await recorded([call('get_weather', { location: 'x'.repeat(70_000) }), 'Done.'])
  expect(cassette).toMatchObject({ complete: false, incomplete: expect.arrayContaining([expect.any(String)]) })
  await expect(replayCassette(cassette)).rejects.toThrow("The cassette of run 'run-1' is incomplete")
})

test('another model can use the tools of a run', async () => {
  const { cassette } = await recorded(PARALLEL)
  const other = scripted(call('get_weather', { location: 'Paris' }), call('add', { n: 2 }), 'Sunny, and 3.')
  const { answer, unused } = await replayCassette(cassette, { mode: 'loose', model: other })
  expect(answer).toMatchObject({ content: 'Sunny, and 3.', tool_calls: [{ tool: 'get_weather' }, { tool: 'add' }] })
  expect(unused).toBe(1)
  expect(other.requests[0]?.tools.map(({ name }) => name)).toEqual(['add', 'get_weather', 'fail', 'slow'])
  expect(other.requests[0]?.tools[0]).toEqual({ name: 'add', description: expect.any(String), parameters: schema })
  const strict = replayCassette(cassette, { model: scripted(call('add', { n: 1 }), 'Done.') })
  await expect(strict).rejects.toThrow(
    'in turn 2, message 2 was assistant saying "Let me see." with the calls add({"n":1})',
  )
})

test('a run without a recording has no cassette', () => {
  expect(() => runCassette({ id: 'run-1' } as StoredRun)).toThrow("Run 'run-1' can't be replayed")
})

function usage(prompt_tokens: number) {
  return { prompt_tokens, completion_tokens: 10, total_tokens: prompt_tokens + 10 }
}

function client() {
  return { name: 'theirs', description: 'Theirs', parameters: { type: 'object' } }
}
