import { createOpenAI } from '@ai-sdk/openai'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, Output, stepCountIs, streamText, tool } from 'ai'
import type { OpenAI } from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { TextSeal } from '../../app/durable/sealed-text.ts'
import { image } from '../../core/fixtures/media.ts'
import { ModelCatalogue } from '../../models/model-catalogue.ts'
import { ModelError } from '../../models/model-error.ts'
import { ManualClock, scripted, wordEmbedder } from '../../testing/stand-ins.ts'
import { newStoredKey } from '../fixtures/new-stored-key.ts'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'
import { clientOf, MODEL, note } from './fixtures/openai-client.ts'

type Asked = OpenAI.Responses.ResponseCreateParamsNonStreaming

const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12, cached_tokens: 8 }
const door = { calls: [{ name: 'open_door', arguments: { door: 'front' }, id: 'm1', metadata: { signature: 'abc' } }] }
const DOOR: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'open_door',
  strict: false,
  parameters: { type: 'object', properties: { door: { type: 'string' } } },
}
const ask = (client: OpenAI, rest: Partial<Asked> = {}) =>
  client.responses.create({ model: MODEL, input: 'Go', ...rest }) as Promise<OpenAI.Responses.Response>
const stream = (client: OpenAI, rest: Partial<Asked> = {}) =>
  client.responses.create({ model: MODEL, input: 'Go', ...rest, stream: true })
const NOT_FOUND = { status: 404, code: 'response_not_found' }
const OSLO = '{"town":"Oslo"}'
const DAY_MS = 86_400_000

describe('POST /v1/responses', () => {
  test('runs the tools of the server, and answers with items and usage', async () => {
    const take_note = vi.fn(() => 'noted')
    const turns = [
      { text: 'Wait.', ...note, usage },
      { text: 'I noted it.', usage },
    ]
    const { url, model } = await openScriptedServer(turns, { tools: { take_note } })
    const asked = { instructions: 'Be brief.', max_output_tokens: 50, temperature: 0.2, metadata: { for: 'test' } }
    const answer = await ask(clientOf(url), asked)
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
      object: 'response',
      status: 'completed',
      model: MODEL,
      output: [
        { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Wait.' }] },
        { type: 'message', content: [{ type: 'output_text', text: '\n\nI noted it.', annotations: [] }] },
      ],
      usage: { input_tokens: 20, input_tokens_details: { cached_tokens: 16 }, output_tokens: 4, total_tokens: 24 },
      toolyard: { stop_reason: 'stop', tool_calls: [{ tool: 'take_note', success: true }] },
      ...asked,
      store: true,
      error: null,
    })
    expect(answer.output_text).toBe('Wait.\n\nI noted it.')
    expect(take_note).toHaveBeenCalledTimes(1)
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Go' },
    ]
    expect(model.requests[0]).toMatchObject({ max_tokens: 50, temperature: 0.2, messages })
  })

  test('streams the events that the official client reads', async () => {
    const { url } = await openScriptedServer([{ text: 'Wait.', ...note }, 'I noted it.'], {
      tools: { take_note: () => 1 },
    })
    const events = await Array.fromAsync(await stream(clientOf(url)))
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
    const text = ['output_item.added', 'content_part.added', 'output_text.delta']
    const end = ['output_text.done', 'content_part.done', 'output_item.done']
    const types = events.map(({ type }) => type.replace('response.', ''))
    expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
      'created',
      'in_progress',
      ...text,
      ...end,
      ...text,
      ...end,
      'completed',
    ])
    const runner = clientOf((await openScriptedServer([{ text: 'Hello there.' }])).url).responses.stream({
      ...{ model: MODEL, input: 'Go' },
    })
    const deltas: string[] = []
    runner.on('response.output_text.delta', ({ delta }) => deltas.push(delta))
    const { output_text, status } = await runner.finalResponse()
    expect([output_text, status, deltas.join('')]).toEqual(['Hello there.', 'completed', 'Hello there.'])
  })

  test('hands calls of functions back, and continues with their outputs', async () => {
    const take_note = vi.fn(() => 'noted')
    const { url, model } = await openScriptedServer([note, door, 'It is open.', 'Yes.'], { tools: { take_note } })
    const client = clientOf(url)
    const first = await ask(client, { tools: [DOOR], instructions: 'Be brief.' })
    const [call] = first.output
    if (call?.type !== 'function_call') throw new Error('No call')
    expect(first).toMatchObject({ status: 'completed', output_text: '', output: [{ name: 'open_door' }] })
    expect(call).toMatchObject({ arguments: '{"door":"front"}', call_id: expect.stringMatching(/^call_/) })
    const missing = ask(client, { tools: [DOOR], previous_response_id: first.id })
    await expect(missing).rejects.toMatchObject({ status: 400, message: expect.stringContaining(call.call_id) })
    const output = { type: 'function_call_output', call_id: call.call_id, output: 'opened' } as const
    const second = await ask(client, { tools: [DOOR], previous_response_id: first.id, input: [output] })
    expect(second).toMatchObject({ output_text: 'It is open.', previous_response_id: first.id })
    // The instructions are those of one response, and the client's output has the id of the model.
    expect(model.requests[2]?.messages).toMatchObject([
      { role: 'user', content: 'Go' },
      { role: 'assistant', tool_calls: [{ function: { name: 'take_note' } }] },
      { role: 'tool', name: 'take_note' },
      { role: 'assistant', tool_calls: [{ id: 'm1', metadata: { signature: 'abc' } }] },
      { role: 'tool', tool_call_id: 'm1', name: 'open_door', content: 'opened' },
    ])
    await ask(client, { previous_response_id: second.id, input: 'Really?' })
    expect(model.requests[3]?.messages.slice(5)).toEqual([
      { role: 'assistant', content: 'It is open.' },
      { role: 'user', content: 'Really?' },
    ])
    expect(take_note).toHaveBeenCalledTimes(1)
  })

  test('continues from items instead of the stored response', async () => {
    const { url, model } = await openScriptedServer([note, door, 'It is open.'], { tools: { take_note: () => 1 } })
    const client = clientOf(url)
    const first = await ask(client, { tools: [DOOR], store: false })
    const [call] = first.output
    if (call?.type !== 'function_call') throw new Error('No call')
    const output = { type: 'function_call_output', call_id: call.call_id, output: 'opened' } as const
    const input = [{ role: 'user', content: 'Go' } as const, call, output]
    expect((await ask(client, { tools: [DOOR], store: false, input })).output_text).toBe('It is open.')
    const roles = model.requests[2]?.messages.map(({ role }) => role)
    expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool'])
  })

  test('streams calls of functions', async () => {
    const { url } = await openScriptedServer([door])
    const events = await Array.fromAsync(await stream(clientOf(url), { tools: [DOOR] }))
    const deltas = events.flatMap((event) =>
      event.type === 'response.function_call_arguments.delta' ? event.delta : [],
    )
    expect(deltas.length).toBeGreaterThan(1)
    const item = { type: 'function_call', name: 'open_door', arguments: '{"door":"front"}', status: 'completed' }
    expect(events.find(({ type }) => type === 'response.output_item.done')).toMatchObject({ output_index: 0, item })
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { output: [item] } })
    expect(deltas.join('')).toBe(item.arguments)
  })

  test('takes images of the user, and refuses what it can not follow', async () => {
    const { url, model } = await openScriptedServer(['Grey.'], { accepts: { types: ['image/png'] } })
    const client = clientOf(url)
    const image_url = `data:image/png;base64,${image.data}`
    const content = [{ type: 'input_image', image_url, detail: 'auto' } as const]
    await ask(client, { input: [{ role: 'user', content }] })
    expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: [image] }])
    const refused: [Partial<Asked> | object, string][] = [
      [{ background: true }, 'background'],
      [{ conversation: 'conv_1' }, 'conversation'],
      [{ max_tool_calls: 3 }, 'max_tool_calls'],
      [{ max_tokens: -5 }, 'max_tokens'],
      [{ max_completion_tokens: 5 }, 'max_completion_tokens'],
      [{ budget: { tokens: 5 } }, 'budget'],
      [{ max_output_tokens: 1e21 }, 'max_output_tokens'],
      [{ input: [{ type: 'item_reference', id: { toString: 1 } }] }, 'input[0].id'],
      [{ tools: [{ name: 'open_door' }] }, 'tools[0]'],
      [{ tools: [{ type: 'namespace', name: 'a b', tools: [] }] }, 'tools[0].name'],
      [{ tools: [{ type: 'namespace', name: 'house' }] }, 'tools[0].tools'],
      [{ tools: [{ type: 'namespace', name: 'house', tools: [null] }] }, 'tools[0].tools[0]'],
      [{ tools: [{ type: 'namespace', name: 'house', tools: Array(1_025).fill(DOOR) }] }, 'tools'],
      [{ tool_choice: { type: 'web_search' } }, 'tool_choice'],
      [{ tool_choice: 'required' }, 'tools'],
      [{ text: { format: { type: 'json_schema', name: 'x', schema: { type: 'array' } } } }, 'text.format.type'],
      [{ input: [{ type: 'computer_call' }] }, 'input[0]'],
      [{ input: [{ type: 'function_call_output', call_id: 'x', output: 'y' }] }, 'input[0].tool_call_id'],
      [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file' }] }] }, 'input[0].content[0]'],
      [
        {
          input: [
            {
              role: 'user',
              content: [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: { toString: 1 } } }],
            },
          ],
        },
        'input[0].content[0]',
      ],
      [{ input: [] }, 'input'],
    ]
    for (const [body, param] of refused) {
      await expect(ask(client, body), JSON.stringify(body)).rejects.toMatchObject({ status: 400, param })
    }
    const { url: other } = await openScriptedServer([])
    const blind = ask(clientOf(other), { input: [{ role: 'user', content }] })
    await expect(blind).rejects.toMatchObject({ status: 400, param: 'input[0].content' })
    expect(model.requests).toHaveLength(1)
  })

  test('gives structured output, and requires calls', async () => {
    const turns = ['Oslo', '{"town":"Oslo"}', 'No.', 'Never.', { calls: [{ name: 'take_note' }] }, 'Noted.']
    const { url } = await openScriptedServer(turns, { tools: { take_note: () => 1 } })
    const client = clientOf(url)
    const format = zodTextFormat(z.object({ town: z.string() }), 'place')
    const parsed = await client.responses.parse({ model: MODEL, input: 'Go', text: { format } })
    expect([parsed.output_parsed, parsed.output.length]).toEqual([{ town: 'Oslo' }, 1])
    const refused = stream(client, { tool_choice: 'required' })
    await expect(refused).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining('did not call a tool'),
    })
    const named = { type: 'function', name: 'take_note' } as const
    expect((await ask(client, { tool_choice: named })).output_text).toBe('Noted.')
  })

  test('says that an answer is incomplete, and fails in the form of OpenAI', async () => {
    const failed = new Error('secret address')
    const turns = [{ text: 'Once upon', reason: 'length' as const }, failed, { text: 'Half', error: failed }]
    const { url } = await openScriptedServer(turns)
    const client = clientOf(url)
    const half = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output_text: 'Once upon' }
    expect(await ask(client)).toMatchObject(half)
    await expect(ask(client)).rejects.toMatchObject({ status: 502, code: 'model_failed' })
    const events = Array.fromAsync(await stream(client))
    await expect(events).rejects.toThrow(`Model ${MODEL} failed. See the log`)
  })
})

describe('stored responses', () => {
  test('are returned, deleted, and found by their own caller only', async () => {
    const { url, key } = await openScriptedServer(['One.', 'Two.', 'Three.', 'Four.'])
    const [own, colleague, stranger] = [await key('acme'), await key('acme'), await key('other')]
    const client = clientOf(url, own)
    const first = await ask(client)
    const got = await client.responses.retrieve(first.id)
    expect(got).toEqual(first)
    for (const other of [colleague, stranger].map((text) => clientOf(url, text))) {
      await expect(other.responses.retrieve(first.id)).rejects.toMatchObject(NOT_FOUND)
      await expect(other.responses.delete(first.id)).rejects.toMatchObject(NOT_FOUND)
      const stolen = ask(other, { previous_response_id: first.id })
      await expect(stolen).rejects.toMatchObject({ ...NOT_FOUND, param: 'previous_response_id' })
      const [item] = first.output
      const reference = { type: 'item_reference', id: String(item?.id) } as const
      await expect(ask(other, { input: [reference] })).rejects.toMatchObject(NOT_FOUND)
    }
    await ask(client, { previous_response_id: first.id })
    await client.responses.delete(first.id)
    for (const id of [first.id, 'resp_0', 'resp_'.padEnd(37, '0'), 'chat']) {
      await expect(client.responses.retrieve(id)).rejects.toMatchObject(NOT_FOUND)
    }
    const nothing = await ask(client, { store: false })
    expect(nothing).toHaveProperty('store', false)
    await expect(client.responses.retrieve(nothing.id)).rejects.toMatchObject(NOT_FOUND)
    // A chat of the AI SDK can't take the place of a response.
    const chat = { id: 'resp_x', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Go' }] }] }
    const headers = { 'content-type': 'application/json', 'x-api-key': own }
    const taken = await fetch(`${url}/api/ai-sdk/chat`, { method: 'POST', headers, body: JSON.stringify(chat) })
    expect(taken.status).toBe(400)
  })

  test('are encrypted if there is a key, each for its own place', async () => {
    const { installation, url } = await openScriptedServer(['Secret answer.', 'Second.'])
    Object.assign(installation, { seal: new TextSeal('0123456789'.repeat(7)) })
    const client = clientOf(url)
    const [first, second] = [await ask(client), await ask(client)]
    const { chats } = installation.storage
    const key = { tenant: 'local', caller: 'local' }
    const [turn] = await chats.turns({ ...key, chat: first.id })
    expect(turn?.messages).toMatch(/^sealed\.[0-9a-f]{8}\.[A-Za-z0-9+/=]+$/)
    expect((await client.responses.retrieve(first.id)).output_text).toBe('Secret answer.')
    await chats.add({ ...key, chat: second.id }, { messageId: second.id, messages: String(turn?.messages) })
    await chats.remove({ ...key, chat: first.id })
    await chats.update({ ...key, chat: second.id }, { messageId: second.id, messages: String(turn?.messages) })
    await expect(client.responses.retrieve(second.id)).rejects.toMatchObject({ status: 503 })
  })

  test('are only in memory if the operator stores no runs', async () => {
    const { installation, url } = await openScriptedServer(['One.', 'Two.'], { config: { storage: { runs: false } } })
    const client = clientOf(url)
    const { id } = await ask(client)
    expect((await ask(client, { previous_response_id: id })).output_text).toBe('Two.')
    expect(await installation.storage.chats.turns({ tenant: 'local', caller: 'local', chat: id })).toEqual([])
    await client.responses.delete(id)
    await expect(client.responses.retrieve(id)).rejects.toMatchObject(NOT_FOUND)
  })

  test('that input refers to are read up to a limit', async () => {
    const { url } = await openScriptedServer(['One.', 'Two.', 'Three.'])
    const client = clientOf(url)
    const { output } = await ask(client)
    const reference = { type: 'item_reference', id: String(output[0]?.id) } as const
    const many = Array<typeof reference>(200).fill(reference)
    expect((await ask(client, { input: [...many, { role: 'user', content: 'Go' }] })).output_text).toBe('Two.')
    const ids = Array.from({ length: 101 }, (_, n) => n.toString(16).padStart(32, '0'))
    const others = ids.map((hex) => ({ type: 'item_reference', id: `msg_${hex}_0` }) as const)
    await expect(ask(client, { input: [reference, ...others] })).rejects.toMatchObject(NOT_FOUND)
  })

  test('are counted as often as input refers to them', async () => {
    const { url, model } = await openScriptedServer([{ text: 'x'.repeat(100_000) }, 'Two.'])
    const client = clientOf(url)
    const { output } = await ask(client)
    const reference = { type: 'item_reference', id: String(output[0]?.id) } as const
    const input = [...Array<typeof reference>(100).fill(reference), { role: 'user', content: 'Go' } as const]
    const problem = { status: 400, message: expect.stringContaining('refers to too many') }
    await expect(ask(client, { input })).rejects.toMatchObject(problem)
    expect(model.requests).toHaveLength(1)
  })

  test('expire after 7 days', async () => {
    const clock = new ManualClock()
    const { url, model } = await openScriptedServer(['One.', 'Two.'], { clock })
    const client = clientOf(url)
    const { id } = await ask(client)
    clock.advance(7 * DAY_MS - 1_000)
    expect(await ask(client, { previous_response_id: id })).toMatchObject({ output_text: 'Two.' })
    expect(model.requests[1]?.messages).toHaveLength(3)
    clock.advance(1_000)
    await expect(client.responses.retrieve(id)).rejects.toMatchObject(NOT_FOUND)
    await expect(ask(client, { previous_response_id: id })).rejects.toMatchObject(NOT_FOUND)
  })

  test('that do not fit into the storage quota are answered, but not stored', async () => {
    const { url } = await openScriptedServer(['One.', 'Two.'], { config: { limits: { storage_bytes: 1_000 } } })
    const client = clientOf(url)
    const answer = await ask(client, { input: 'x'.repeat(2_000) })
    expect(answer).toMatchObject({ output_text: 'One.', store: false })
    await expect(ask(client, { previous_response_id: answer.id })).rejects.toMatchObject(NOT_FOUND)
  })
})

describe('POST /v1/embeddings', () => {
  const input = ['one', 'two', 'three']

  test('embeds in batches, as numbers or base64, and refuses what it can not do', async () => {
    const { url, installation } = await openScriptedServer([])
    const embedder = wordEmbedder({ dimensions: 8, batch: 2, maxCharacters: 20 })
    installation.manager.getEmbedder = async () => embedder
    const { embeddings } = clientOf(url)
    const asked = { model: embedder.id, input }
    const { data } = await embeddings.create({ ...asked, encoding_format: 'float', dimensions: 8 })
    expect(data).toMatchObject(input.map((_, index) => ({ object: 'embedding', index })))
    expect(embedder.requests).toEqual([['one', 'two'], ['three']])
    const packed = await embeddings.create({ ...asked, encoding_format: 'base64' })
    const bytes = Buffer.from(String(packed.data[0]?.embedding), 'base64')
    expect(Array.from(new Float32Array(bytes.buffer, bytes.byteOffset, 8))).toEqual(data[0]?.embedding)
    const refused: [object, string][] = [
      [{ dimensions: 4 }, 'dimensions'],
      [{ input: [1, 2] }, 'input'],
      [{ input: [[1, 2]] }, 'input'],
      [{ input: [] }, 'input'],
      [{ input: ' ' }, 'input'],
      [{ input: 'x'.repeat(21) }, 'input'],
      [{ input: Array(2_049).fill('x') }, 'input'],
    ]
    for (const [body, param] of refused) {
      const answer = embeddings.create({ ...asked, ...body })
      await expect(answer, JSON.stringify(body).slice(0, 100)).rejects.toMatchObject({ status: 400, param })
    }
    const broken = wordEmbedder({ before: () => Promise.reject(new ModelError('It is busy', { status: 429 })) })
    installation.manager.getEmbedder = async () => broken
    await expect(embeddings.create(asked)).rejects.toMatchObject({ status: 503, code: 'model_failed' })
  })

  test('is charged by the prices of the model, as far as it was embedded', async () => {
    const budgets = [{ scope: 'tenant', per: 'day', amount: 0.000_012 }] as const
    const { url, installation, key } = await openScriptedServer([], { config: { budgets } })
    let fails = false
    const embedder = wordEmbedder({
      batch: 1,
      before: async () => {
        if (fails && embedder.requests.length % 2 === 0) throw new ModelError('It is busy', { status: 429 })
      },
    })
    installation.manager.getEmbedder = async () => embedder
    const info = { id: embedder.id, name: 'Words', capabilities: [], prices: { input: 1, output: 0 } }
    const catalogue = new ModelCatalogue([{ name: 'scripted', model: () => scripted() }], [info])
    installation.manager.getModels = async () => catalogue
    const text = await key('acme')
    const { embeddings } = clientOf(url, text)
    const spent = async () => {
      await installation.sink.flush()
      const answer = await fetch(`${url}/api/costs?by=model`, { headers: { 'x-api-key': text } })
      return ((await answer.json()) as { total: { cost: number } }).total.cost
    }
    // 4 characters per token, at a millionth for each.
    await embeddings.create({ model: embedder.id, input: ['x'.repeat(8), 'y'.repeat(8)] })
    expect(await spent()).toBe(0.000_004)
    fails = true
    const half = embeddings.create({ model: embedder.id, input: ['x'.repeat(8), 'y'.repeat(8)] })
    await expect(half).rejects.toMatchObject({ status: 503 })
    expect(await spent()).toBe(0.000_006)
    fails = false
    await embeddings.create({ model: embedder.id, input: 'x'.repeat(28) })
    await installation.sink.flush()
    const refused = embeddings.create({ model: embedder.id, input: 'x' })
    await expect(refused).rejects.toMatchObject({ status: 429, message: expect.stringContaining('budget') })
    expect(await spent()).toBe(0.000_013)
  })

  test('counts as a call of its key, which must be allowed to use the model', async () => {
    const { url, installation, key } = await openScriptedServer([])
    const embedder = wordEmbedder()
    installation.manager.getEmbedder = async () => embedder
    const limited = clientOf(url, await key('acme', 'operator', undefined, 1)).embeddings
    await limited.create({ model: embedder.id, input })
    await expect(limited.create({ model: embedder.id, input })).rejects.toMatchObject({ status: 429 })
    const { text, stored } = newStoredKey('acme', 'operator', { models: ['scripted:*'] })
    await installation.storage.keys.create(stored)
    await installation.callers.load(installation.storage.keys)
    const other = clientOf(url, text).embeddings.create({ model: embedder.id, input })
    await expect(other).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
    expect(embedder.requests).toHaveLength(1)
  })
})

describe('clients of other libraries', () => {
  const tools = { take_note: () => 'noted' }
  const open_door = () => 'opened'

  test.each(['chat', 'responses'] as const)('the AI SDK, %s: its own tools, the server’s and streams', async (api) => {
    const { url, model } = await openScriptedServer([note, door, 'It is open.', note, 'Noted.', OSLO], { tools })
    const openai = createOpenAI({
      baseURL: `${url}/v1`,
      apiKey: 'none',
      headers: { Authorization: undefined as never },
    })
    const ours = tool({ inputSchema: z.object({ door: z.string() }), execute: open_door })
    const answer = await generateText({
      model: openai[api](MODEL),
      prompt: 'Go',
      tools: { open_door: ours },
      stopWhen: stepCountIs(3),
    })
    expect([answer.text, answer.steps.length]).toEqual(['It is open.', 2])
    const roles = model.requests[2]?.messages.map(({ role }) => role)
    expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool'])
    const streamed = streamText({ model: openai[api](MODEL), prompt: 'Go' })
    expect([await streamed.text, await streamed.finishReason]).toEqual(['Noted.', 'stop'])
    const output = Output.object({ schema: z.object({ town: z.string() }) })
    const typed = await generateText({ model: openai[api](MODEL), prompt: 'Go', output })
    expect(typed.output).toEqual({ town: 'Oslo' })
  })

  test.each([false, true])('LangChain, useResponsesApi %s: tools and streams', async (useResponsesApi) => {
    const { url } = await openScriptedServer([note, door, 'It is open.', 'Noted.', OSLO], { tools })
    const configuration = { baseURL: `${url}/v1`, defaultHeaders: { authorization: null } }
    const model = new ChatOpenAI({ model: MODEL, apiKey: 'none', useResponsesApi, maxRetries: 0, configuration })
    const schema = z.object({ door: z.string() })
    const bound = model.bindTools([
      { type: 'function', function: { name: 'open_door', parameters: z.toJSONSchema(schema) } },
    ])
    const first = await bound.invoke('Go')
    expect(first.tool_calls).toMatchObject([{ name: 'open_door', args: { door: 'front' } }])
    const [call] = first.tool_calls ?? []
    const result = { role: 'tool', tool_call_id: String(call?.id), content: 'opened' }
    const second = await bound.invoke([{ role: 'user', content: 'Go' }, first, result])
    expect(second.text).toBe('It is open.')
    let text = ''
    for await (const chunk of await model.stream('Go')) text += chunk.text
    expect(text).toBe('Noted.')
    const typed = model.withStructuredOutput(z.object({ town: z.string() }), { method: 'jsonSchema' })
    expect(await typed.invoke('Go')).toEqual({ town: 'Oslo' })
  })
})
