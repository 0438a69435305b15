import { expect, test } from 'vitest'
import type { RunAnswer, RunEvent } from '../../chat/run.ts'
import type { EventStream } from '../http/event-stream.ts'
import { readCompletion } from './completion-request.ts'
import { CompletionStream } from './completion-stream.ts'

const HEAD = { id: 'chatcmpl-1', created: 0, model: 'a:b' }
const call = (name: string) => ({ id: 'm1', type: 'function', function: { name, arguments: '{"a":1}' } }) as const

/** The chunks that a run becomes, whose client has the tool `ask`. */
async function written(...events: RunEvent[]) {
  const lines: string[] = []
  const stream = { sendText: async (line: string) => void lines.push(line) } as unknown as EventStream
  const tools = [{ type: 'function', function: { name: 'ask' } }]
  const chunks = new CompletionStream(stream, HEAD, readCompletion({ model: 'a:b', messages: [], tools }))
  for (const event of events) await chunks.write(event)
  const deltas = lines.slice(0, -1).map((line) => JSON.parse(line).choices[0].delta)
  return { last: lines.at(-1), deltas, ids: [...chunks.ids] }
}

const answer = (rest: Partial<RunAnswer>): RunEvent => ({
  type: 'answer',
  answer: { content: '', service: 'a', model: 'b', tool_calls: [], stop_reason: 'stop', ...rest },
  messages: [],
})

test('sends a call that arrives as a whole', async () => {
  const { deltas, ids, last } = await written(
    { type: 'tool-call-end', call: call('ask') },
    answer({ client_calls: [call('ask')] }),
  )
  expect(deltas.slice(1, 3)).toEqual([
    { tool_calls: [{ index: 0, id: ids[0]?.[0], type: 'function', function: { name: 'ask', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] },
  ])
  expect(ids).toEqual([[expect.stringMatching(/^call_/), 'm1']])
  expect(last).toBe('[DONE]')
})

test('calls of the server are none of the client’s business', async () => {
  const { deltas, ids } = await written(
    { type: 'tool-call-start', id: 'm1', name: 'write' },
    { type: 'tool-call-delta', id: 'm1', text: '{"a":1}' },
    { type: 'tool-call-end', call: call('write') },
    answer({ content: 'Done.' }),
  )
  expect(deltas).toEqual([{ role: 'assistant', content: '' }, { content: 'Done.' }, {}])
  expect(ids).toEqual([])
})

test('sends an answer that differs from the streamed text after it', async () => {
  const { deltas } = await written({ type: 'text-delta', text: 'I was about to' }, answer({ content: 'I am late.' }))
  expect(deltas.map(({ content }) => content)).toEqual(['', 'I was about to', '\n\nI am late.', undefined])
})
