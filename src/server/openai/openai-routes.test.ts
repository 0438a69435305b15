import type { OpenAI } from 'openai'
import type { RunnableToolFunctionWithParse } from 'openai/lib/RunnableFunction'
import { describe, expect, test, vi } from 'vitest'
import { never } from '../../core/fixtures/code-yard.ts'
import { image } from '../../core/fixtures/media.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { ModelCatalogue } from '../../models/model-catalogue.ts'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'
import { openTestServer } from '../fixtures/open-server.ts'
import { closeGracefully } from '../serve.ts'
import { type Chunk, chunksOf, clientOf, completionOf, GO, MODEL, note } from './fixtures/openai-client.ts'

type Messages = OpenAI.ChatCompletionMessageParam[]

const door = { calls: [{ name: 'open_door', arguments: { door: 'front' }, id: 'm1', metadata: { signature: 'abc' } }] }
const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
const DOOR: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: { name: 'open_door', parameters: { type: 'object', properties: { door: { type: 'string' } } } },
}

const textOf = (chunks: readonly Chunk[]) => chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')

describe('POST /v1/chat/completions', () => {
  const seen: Messages = [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${image.data}` } }] },
  ]

  test('passes images of the user to a model that takes them, and records a short text', async () => {
    const { url, model } = await openScriptedServer(['Grey.'], { accepts: { types: ['image/png'] } })
    const { id } = await completionOf(clientOf(url), { messages: seen })
    expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: [image] }])
    const run = await fetch(`${url}/api/runs/${id.slice('chatcmpl-'.length)}`)
    expect(await run.json()).toMatchObject({ question: '[image image/png, 67 bytes]' })
  })

  test('asks the provider to cache, by a key that tenants do not share', async () => {
    const { url, model, key } = await openScriptedServer(['1', '2', '3', '4', '5'])
    const [acme, colleague, globex] = [await key('acme'), await key('acme'), await key('globex')]
    const hint = { prompt_cache_key: 'tickets' }
    await completionOf(clientOf(url, acme), hint)
    await completionOf(clientOf(url, colleague), hint)
    await clientOf(url, acme).responses.create({ model: MODEL, input: 'Go', ...hint })
    await completionOf(clientOf(url, globex), hint)
    await completionOf(clientOf(url, acme))
    const [first, ...others] = model.requests.map(({ cache }) => cache?.key)
    expect(first).toMatch(/^[0-9a-f]{32}$/)
    expect(others.map((one) => one === first)).toEqual([true, true, false, false])
  })

  test.each(['responses', 'chat'] as const)(
    'store: false of %s leaves no run, no parameters and no approval',
    async (api) => {
      const pay = vi.fn(() => 'paid')
      const ours = (name: string, implementation: object, approval = false) => ({
        ...{ name, description: name, parameters: { type: 'object' }, implementation, approval },
      })
      const handler = (name: string) => ({ type: 'internal', handler: name })
      const nested = { type: 'agent', model: MODEL, tools: ['take_note'] }
      const registry = [
        ours('take_note', handler('take_note')),
        ours('pay', handler('pay'), true),
        ours('helper', nested),
      ] as ToolDefinition[]
      const calls = ['helper', 'pay', 'nothing'].map((name) => ({ name, arguments: {} }))
      const { url, installation, model } = await openScriptedServer([{ calls }, note, 'Noted.', 'Done.', 'Stored.'], {
        tools: { take_note: () => 'noted', pay },
        config: { tools: { enabled: true, registry } },
      })
      const client = clientOf(url)
      const send = (store: boolean) =>
        api === 'responses'
          ? client.responses.create({ model: MODEL, input: 'Go', store })
          : completionOf(client, { store })
      await send(false)
      installation.manager.getExecutor().flush()
      await installation.sink.flush()
      const read = async (path: string) => (await fetch(url + path)).json()
      const { rows } = (await read('/audit?type=call')) as { rows: { id: string; tool: string }[] }
      expect(rows.map(({ tool }) => tool).sort()).toEqual(['helper', 'nothing', 'pay', 'take_note'])
      for (const { id } of rows) expect(await read(`/audit/${id}`)).toMatchObject({ payload: null, payloads: 'all' })
      await installation.toolUse.flush()
      expect(await installation.storage.toolUse.list('local')).toEqual([])
      const told = JSON.stringify(model.requests[3]?.messages)
      expect(told).toContain('needs approval')
      await send(true)
      await installation.sink.flush()
      const { storage } = installation
      const { runs } = await storage.runs.list({ tenant: 'local', limit: 10 })
      expect(runs.map(({ answer }) => answer)).toEqual(['Stored.'])
      expect(await storage.pauses.list({ tenant: 'local', limit: 10, now: 0 })).toMatchObject({ pauses: [] })
      expect(pay).not.toHaveBeenCalled()
      const durable = client.post('/chat/completions', {
        body: { model: MODEL, store: false, messages: GO },
        headers: { 'toolyard-durable': 'true' },
      })
      await expect(durable).rejects.toMatchObject({ status: 400, param: 'store' })
    },
  )

  test('refuses images for a model that does not take them, and names those that do', async () => {
    const { url, installation, model } = await openScriptedServer([])
    const refused = completionOf(clientOf(url), { messages: seen })
    const problem = `Model '${MODEL}' does not take [image image/png, 67 bytes]`
    await expect(refused).rejects.toThrow(`400 ${problem}. None of your models does`)
    const info = { name: 'x', capabilities: [] }
    const able = { ...model, id: 'scripted:able', accepts: { types: ['image/png'] } }
    const provider = { name: 'scripted', model: (name: string) => (name === 'able' ? able : model) }
    const models = new ModelCatalogue(
      [provider],
      [able, model].map(({ id }) => ({ id, ...info })),
    )
    installation.manager.getModels = async () => models
    await expect(completionOf(clientOf(url), { messages: seen })).rejects.toMatchObject({
      status: 400,
      param: 'messages[0].content',
      code: 'unsupported_value',
      message: `400 ${problem}. Models that do: scripted:able`,
    })
  })

  test('runs the tools of the server, and gives one answer', async () => {
    const take_note = vi.fn(() => 'noted')
    const turns = [
      { text: 'Wait.', ...note, usage },
      { text: 'I noted it.', usage },
    ]
    const { url, model } = await openScriptedServer(turns, { tools: { take_note } })
    const answer = await completionOf(clientOf(url), { max_tokens: 50, temperature: 0.2 })
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f-]{36}$/),
      object: 'chat.completion',
      model: MODEL,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'I noted it.', refusal: null },
          finish_reason: 'stop',
          logprobs: null,
        },
      ],
      usage: { prompt_tokens: 20, completion_tokens: 4, total_tokens: 24 },
      toolyard: { stop_reason: 'stop', tool_calls: [{ tool: 'take_note', iteration: 1, success: true }] },
    })
    expect(answer.choices[0]?.message).not.toHaveProperty('tool_calls')
    expect(Math.abs(answer.created - Date.now() / 1_000)).toBeLessThan(600)
    expect(take_note).toHaveBeenCalledTimes(1)
    expect(model.requests[0]).toMatchObject({ max_tokens: 50, temperature: 0.2, messages: GO })
    const run = await fetch(`${url}/api/runs/${answer.id.slice('chatcmpl-'.length)}`)
    expect(await run.json()).toMatchObject({ model: MODEL, tool_calls: 1 })
  })

  test('streams the text of every turn, and the events of the server', async () => {
    const turns = [
      { text: 'Wait a bit.', ...note, usage },
      { text: 'I noted it.', usage },
    ]
    const { url } = await openScriptedServer(turns, {
      tools: {
        take_note: (_, { report }) => {
          report({ done: 1 })
          return 'noted'
        },
      },
    })
    const chunks = await chunksOf(clientOf(url), { stream_options: { include_usage: true } })
    expect(chunks[0]).toMatchObject({
      object: 'chat.completion.chunk',
      model: MODEL,
      choices: [{ delta: { role: 'assistant', content: '' } }],
      usage: null,
    })
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    expect(textOf(chunks)).toBe('Wait a bit.\n\nI noted it.')
    expect(chunks.flatMap(({ toolyard }) => toolyard ?? [])).toMatchObject([
      { type: 'call-progress', tool: 'take_note', progress: { done: 1 } },
      { type: 'call-result', tool: 'take_note', success: true, iteration: 1 },
      { stop_reason: 'stop', tool_calls: [{ tool: 'take_note' }] },
    ])
    expect(JSON.stringify(chunks)).not.toContain('tool_calls":[{"index"')
    expect(chunks.at(-2)?.choices).toMatchObject([{ delta: {}, finish_reason: 'stop' }])
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 20, total_tokens: 24 } })
  })

  test('has the finish reason length and the final answer after a limit', async () => {
    const turns = () => [note, 'So far: milk.']
    const config = { tools: { enabled: true, max_iterations: 1 } }
    const { url } = await openScriptedServer([...turns(), ...turns()], { config })
    const client = clientOf(url)
    const answer = await completionOf(client)
    expect(answer.choices).toMatchObject([{ message: { content: 'So far: milk.' }, finish_reason: 'length' }])
    expect(answer).toMatchObject({ toolyard: { stop_reason: 'max_iterations' } })
    const chunks = await chunksOf(client)
    expect(textOf(chunks)).toBe('So far: milk.')
    expect(chunks.at(-1)?.choices).toMatchObject([{ finish_reason: 'length' }])
  })

  test('hands calls of client tools back, and continues with their results', async () => {
    const take_note = vi.fn(() => 'noted')
    const turns = [note, { text: 'Now the door.', ...door }, 'All done.']
    const { url, model } = await openScriptedServer(turns, { tools: { take_note } })
    const client = clientOf(url)
    const first = await completionOf(client, { tools: [DOOR] })
    const [choice] = first.choices
    expect(choice).toMatchObject({
      message: {
        content: 'Now the door.',
        tool_calls: [{ type: 'function', function: { name: 'open_door', arguments: '{"door":"front"}' } }],
      },
      finish_reason: 'tool_calls',
    })
    const id = choice?.message.tool_calls?.[0]?.id as string
    expect(id).toMatch(/^call_[0-9a-f]{24}$/)
    expect(JSON.stringify(first)).not.toContain('signature')
    const messages: Messages = [
      ...GO,
      choice?.message as OpenAI.ChatCompletionMessage,
      { role: 'tool', tool_call_id: id, content: 'open' },
    ]
    const second = await completionOf(client, { messages, tools: [DOOR] })
    expect(second.choices).toMatchObject([{ message: { content: 'All done.' }, finish_reason: 'stop' }])
    expect(take_note).toHaveBeenCalledTimes(1)
    expect(model.requests[2]?.messages).toMatchObject([
      { role: 'user', content: 'Go' },
      { role: 'assistant', tool_calls: [{ function: { name: 'take_note' } }] },
      { role: 'tool', name: 'take_note', content: expect.stringContaining('noted') },
      { role: 'assistant', content: 'Now the door.', tool_calls: [{ id: 'm1', metadata: { signature: 'abc' } }] },
      { role: 'tool', tool_call_id: 'm1', name: 'open_door', content: 'open' },
    ])
  })

  test('runs nothing of a turn that calls tools of both', async () => {
    const take_note = vi.fn(() => 'noted')
    const both = {
      calls: [
        { name: 'take_note', id: 'm1' },
        { name: 'open_door', id: 'm2' },
      ],
    }
    const { url, model } = await openScriptedServer([both, 'All done.'], { tools: { take_note } })
    const client = clientOf(url)
    const chunks = await chunksOf(client, { tools: [DOOR] })
    const calls = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
    expect(calls[0]).toMatchObject({ index: 0, type: 'function', function: { name: 'open_door' } })
    expect(chunks.at(-1)?.choices).toMatchObject([{ finish_reason: 'tool_calls' }])
    expect(take_note).not.toHaveBeenCalled()
    const id = calls[0]?.id as string
    const messages: Messages = [
      ...GO,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'open_door', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: id, content: 'open' },
    ]
    await completionOf(client, { messages, tools: [DOOR] })
    expect(model.requests[1]?.messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'm1' }, { id: 'm2' }] },
      { role: 'tool', tool_call_id: 'm1', content: expect.stringContaining('was not run') },
      { role: 'tool', tool_call_id: 'm2', content: 'open' },
    ])
  })

  test.each([false, true])('works with the tool loop of the OpenAI client (streamed: %s)', async (stream) => {
    const take_note = vi.fn(() => 'noted')
    const openDoor = vi.fn((_: { door: string }) => 'open')
    const turns = [note, { text: 'Now the door.', ...door }, note, door, 'All done.']
    const { url } = await openScriptedServer(turns, { tools: { take_note } })
    const open_door: RunnableToolFunctionWithParse<{ door: string }> = {
      type: 'function',
      function: { name: 'open_door', description: '', parameters: {}, parse: JSON.parse, function: openDoor },
    }
    const { completions } = clientOf(url).chat
    const asked = { model: MODEL, messages: [...GO], tools: [open_door] as [typeof open_door] }
    const runner = stream ? completions.runTools({ ...asked, stream: true }) : completions.runTools(asked)
    expect(await runner.finalContent()).toBe('All done.')
    expect(openDoor.mock.calls.map(([params]) => params)).toEqual([{ door: 'front' }, { door: 'front' }])
    expect(take_note).toHaveBeenCalledTimes(2)
  })

  test('does not share stored turns between callers', async () => {
    const { url, key, model } = await openScriptedServer([note, door, 'Hm.'], { tools: { take_note: () => 'noted' } })
    const [one, other] = [await key('acme', 'user'), await key('acme', 'user')]
    const first = await completionOf(clientOf(url, one), { tools: [DOOR] })
    const message = first.choices[0]?.message as OpenAI.ChatCompletionMessage
    const tool_call_id = message.tool_calls?.[0]?.id as string
    const messages: Messages = [...GO, message, { role: 'tool', tool_call_id, content: 'open' }]
    await completionOf(clientOf(url, other), { messages })
    expect(model.requests[2]?.messages).toHaveLength(3)
  })

  test('offers no tools with tool_choice none', async () => {
    const { url, model } = await openScriptedServer(['Hi.'], { tools: { take_note: () => 1 } })
    await completionOf(clientOf(url), { tools: [DOOR], tool_choice: 'none' })
    expect(model.requests[0]?.tools).toEqual([])
  })

  test('calls everything off when the client hangs up', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const hang = (_: unknown, { signal }: { signal: AbortSignal }) => {
      signal.addEventListener('abort', () => end())
      return never()
    }
    const { url } = await openScriptedServer([{ text: 'Wait.', ...note }], { tools: { take_note: hang } })
    const stream = await clientOf(url).chat.completions.create({ model: MODEL, messages: GO, stream: true })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'Wait.') break
    await ended
    await vi.waitFor(async () => {
      const page = await (await fetch(`${url}/api/runs`)).json()
      expect(page).toMatchObject({ runs: [{ stop_reason: 'cancelled', tool_calls: 1 }] })
    })
  })

  test('ends an open stream with an error at shutdown', async () => {
    const { url, app } = await openScriptedServer([{ text: 'Wait.', ...note }], { tools: { take_note: () => never() } })
    const stream = await clientOf(url).chat.completions.create({ model: MODEL, messages: GO, stream: true })
    const read = async () => {
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'Wait.') void closeGracefully(app, 0)
    }
    await expect(read()).rejects.toThrow('The server is shutting down')
  })
})

describe('GET /v1/models', () => {
  test('lists the models, and gives each by its id, whatever is in that', async () => {
    const models = ['ollama:hf.co/org/model:q4', 'ollama:llama3.2:3b'].map((id) => ({
      id,
      name: id,
      capabilities: ['function-calling'],
    }))
    const server = await openTestServer({ providers: { ollama: {} }, models }, { local: true })
    try {
      const client = clientOf(server.url)
      const ids = (await Array.fromAsync(client.models.list())).map(({ id }) => id)
      expect(ids).toEqual([...models.map(({ id }) => id), 'mini:v1'])
      for (const id of ids) {
        expect(await client.models.retrieve(id)).toMatchObject({
          id,
          object: 'model',
          created: 0,
          owned_by: id.slice(0, id.indexOf(':')),
        })
      }
      await expect(client.models.retrieve('ollama:none')).rejects.toMatchObject({
        status: 404,
        code: 'model_not_found',
      })
      const answer = await client.chat.completions.create({
        model: 'mini:v1',
        messages: [{ role: 'user', content: "What's 2+2?" }],
      })
      expect(answer.choices[0]?.message.content).toBe('2 + 2 is 4.')
    } finally {
      await server.close()
    }
  })
})
