import { describe, expect, test } from 'vitest'
import type { Model, ModelEvent, ModelRequest, ToolCall } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { modelContract } from './model-contract.ts'
import { scriptedAnswer } from './model-script.ts'

let ids = 0
let offered: string[] = []
let brokenOff = 0

/** A model that keeps to the contract. */
async function* good({ messages, tools, signal }: ModelRequest): AsyncGenerator<ModelEvent> {
  signal?.throwIfAborted()
  offered = tools.map(({ name }) => name)
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  const answer = scriptedAnswer(JSON.stringify(asked), messages.at(-1)?.role === 'tool')
  if (answer?.status !== undefined) throw new ModelError('It broke down.')
  let whole = false
  try {
    for (const text of (answer?.text ?? '').split(/(?<= )/)) {
      if (text !== '') yield { type: 'text-delta', text }
      signal?.throwIfAborted()
    }
    whole = true
  } finally {
    if (!whole) brokenOff++
  }
  for (const { name, arguments: args } of answer?.calls ?? []) {
    const call: ToolCall = {
      id: `c${ids++}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }
    yield { type: 'tool-call-start', id: call.id, name }
    yield { type: 'tool-call-delta', id: call.id, text: call.function.arguments }
    yield { type: 'tool-call-end', call }
  }
  yield { type: 'finish', reason: answer?.calls ? 'tool_calls' : 'stop' }
}

type Stream = (request: ModelRequest) => AsyncIterable<ModelEvent>

/** The good model, with each of its events replaced. */
const changing = (change: (event: ModelEvent) => ModelEvent[]): Stream =>
  async function* (request) {
    for await (const event of good(request)) yield* change(event)
  }

const withCall = (event: ModelEvent, change: (call: ToolCall) => ToolCall): ModelEvent[] =>
  event.type === 'tool-call-end' ? [{ ...event, call: change(event.call) }] : [event]

async function brokenClauses(stream: Stream): Promise<string[]> {
  const model: Model = { id: 'it:self', stream }
  const names: string[] = []
  const contract = modelContract({ make: () => model, offered: () => offered, brokenOff: () => brokenOff })
  for (const { name, run } of contract) await run().catch(() => names.push(name))
  return names
}

describe('the contract for models', () => {
  test('holds for a correct model', async () => {
    expect(await brokenClauses(good)).toEqual([])
  })

  test.each<[string, Stream, string]>([
    ['finishes twice', changing((event) => (event.type === 'finish' ? [event, event] : [event])), 'streams text'],
    ['never finishes', changing((event) => (event.type === 'finish' ? [] : [event])), 'streams text'],
    [
      'always finishes with stop',
      changing((event) => [event.type === 'finish' ? { ...event, reason: 'stop' } : event]),
      'finishes with tool_calls',
    ],
    ['drops text', changing((event) => (event.type === 'text-delta' ? [] : [event])), 'streams text'],
    [
      'does not start its calls',
      changing((event) => (event.type === 'tool-call-start' ? [] : [event])),
      'makes the calls',
    ],
    [
      'gives all calls the same id',
      changing((event) => withCall(event, (call) => ({ ...call, id: 'c' }))),
      'makes the calls',
    ],
    [
      'gives other arguments than it streamed',
      changing((event) =>
        withCall(event, (call) => ({ ...call, function: { ...call.function, arguments: '{"location": "Paris"}' } })),
      ),
      'makes the calls of "What is the weather in Paris?"',
    ],
    [
      'reports inconsistent usage',
      changing((event) => [
        event.type === 'finish'
          ? { ...event, usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 5 } }
          : event,
      ]),
      'streams text',
    ],
    ['offers no tools', (request) => good({ ...request, tools: [] }), 'offers exactly the given tools'],
    ['ignores the signal', ({ signal: _, ...request }) => good(request), 'aborts the response on a signal'],
    [
      'forgets results',
      ({ messages, ...request }) => good({ ...request, messages: messages.filter(({ role }) => role !== 'tool') }),
      'answers after the results',
    ],
    [
      'throws another error',
      async function* (request) {
        try {
          yield* good(request)
        } catch {
          throw new Error('It broke down.')
        }
      },
      'throws a ModelError',
    ],
  ])('fails for a model that %s', async (_what, stream, clause) => {
    expect((await brokenClauses(stream)).join('\n')).toContain(clause)
  })
})
