import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { image } from '../src/core/fixtures/media.ts'
import { openScriptedServer } from '../src/server/fixtures/open-scripted-server.ts'
import { openToolServer } from '../src/server/fixtures/open-tool-server.ts'
import { openChat } from '../src/server/fixtures/ui-chat.ts'
import { chunksOf, clientOf, completionOf, GO, MODEL } from '../src/server/openai/fixtures/openai-client.ts'
import { wordEmbedder } from '../src/testing/stand-ins.ts'

describe('OpenAI and AI SDK clients', () => {
  test('[17.1-1] /v1/chat/completions takes response_format (JSON Schema, checked)', async () => {
    const place = z.object({ town: z.string(), degrees: z.number().max(60) })
    const good = '{"town":"Oslo","degrees":5}'
    const turns = [good, '{"town":"Oslo"}', good, '{"degrees":99}', 'Oslo', '{}', good]
    const { url, model } = await openScriptedServer(turns)
    const client = clientOf(url)
    const response_format = zodResponseFormat(place, 'place')
    const parsed = await client.chat.completions.parse({ model: MODEL, messages: GO, response_format })
    expect(parsed.choices[0]?.message.parsed).toEqual({ town: 'Oslo', degrees: 5 })
    expect(model.requests[0]?.response_schema).toMatchObject({ required: ['town', 'degrees'] })
    const corrected = await completionOf(client, { response_format })
    expect([corrected.choices[0]?.message.content, model.requests.length]).toEqual([good, 3])
    const failed = { status: 422, code: 'model_failed' }
    await expect(completionOf(client, { response_format })).rejects.toMatchObject(failed)
    const whole = await completionOf(client, { response_format: { type: 'json_object' } })
    expect(whole.choices[0]?.message.content).toBe('{}')
    const chunks = await chunksOf(client, { response_format })
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(good)
    const endless = { type: 'object', properties: { a: { $ref: '#/properties/b' } } }
    const unusable = { type: 'json_schema', json_schema: { name: 'x', schema: endless } } as const
    const refused = completionOf(client, { response_format: unusable })
    await expect(refused).rejects.toMatchObject({ status: 400, param: 'response_format' })
    expect(model.requests).toHaveLength(turns.length)
  })

  test('[17.1-2] /v1/chat/completions takes image input if the model can', async () => {
    const image_url = { url: `data:image/png;base64,${image.data}` }
    const messages = [{ role: 'user' as const, content: [{ type: 'image_url' as const, image_url }] }]
    const { url, model } = await openScriptedServer(['Grey.'], { accepts: { types: ['image/png'] } })
    await completionOf(clientOf(url), { messages })
    expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: [image] }])
    const remote = [
      { role: 'user' as const, content: [{ ...messages[0]?.content[0], image_url: { url: `${url}/x.png` } }] },
    ]
    const refused = { status: 400, param: 'messages[0].content', code: 'unsupported_value' }
    const { url: other } = await openScriptedServer([])
    await expect(completionOf(clientOf(other), { messages })).rejects.toMatchObject(refused)
    // The server loads no address, and this model's provider doesn't either.
    await expect(completionOf(clientOf(url), { messages: remote as never })).rejects.toMatchObject(refused)
  })

  test('[17.1-3] /v1/chat/completions takes tool_choice: "required"', async () => {
    const calls = [{ name: 'get_weather', arguments: { location: 'Paris' } }]
    const tools = { get_weather: () => ({ temperature: 22 }), pay: () => 'paid' }
    const turns = ['It is warm.', { calls }, 'It is 22 °C.', { calls }, '22 °C.', 'No.', 'Never.']
    const { url, model } = await openScriptedServer(turns, { tools })
    const client = clientOf(url)
    const answer = await completionOf(client, { tool_choice: 'required' })
    expect(answer.choices[0]?.message.content).toBe('It is 22 °C.')
    expect(model.requests.map(({ tool_choice }) => tool_choice)).toEqual(['required', 'required', undefined])
    await completionOf(client, { tool_choice: { type: 'function', function: { name: 'get_weather' } } })
    expect(model.requests[3]).toMatchObject({ tool_choice: 'required', tools: [{ name: 'get_weather' }] })
    const refusing = completionOf(client, { tool_choice: 'required' })
    await expect(refusing).rejects.toMatchObject({ status: 422, code: 'model_failed' })
    const unknown = completionOf(client, { tool_choice: { type: 'function', function: { name: 'sing' } } })
    await expect(unknown).rejects.toMatchObject({ status: 400, message: expect.stringContaining("'sing'") })
  })

  test('[17.1-4] /v1/responses works for the official client (streaming, tools run on the server)', async () => {
    const call = { name: 'get_weather', arguments: { location: 'Paris' } }
    const get_weather = vi.fn(() => ({ temperature: 22 }))
    const { url, model } = await openScriptedServer([{ calls: [call] }, 'It is 22 °C.', 'Yes.'], {
      tools: { get_weather },
    })
    const client = clientOf(url)
    const stream = client.responses.stream({ model: MODEL, input: 'How is the weather?' })
    let text = ''
    for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
    const { id, output_text, status } = await stream.finalResponse()
    expect([text, output_text, status]).toEqual(['It is 22 °C.', 'It is 22 °C.', 'completed'])
    const next = await client.responses.create({ model: MODEL, input: 'Is that warm?', previous_response_id: id })
    expect(next.output_text).toBe('Yes.')
    const roles = model.requests[2]?.messages.map(({ role }) => role)
    expect([roles, get_weather.mock.calls.length]).toEqual([['user', 'assistant', 'tool', 'assistant', 'user'], 1])
  })

  test('[17.1-5] /v1/embeddings works if an embedder is configured', async () => {
    const { url, installation } = await openToolServer({})
    const client = clientOf(url)
    const asked = { model: 'stand-in:words', input: ['a warm day', 'a cold night'] }
    const missing = { status: 404, code: 'model_not_found', param: 'model' }
    await expect(client.embeddings.create(asked)).rejects.toMatchObject(missing)
    const embedder = wordEmbedder({ dimensions: 8 })
    installation.manager.getEmbedder = async () => embedder
    // The client asks for base64 by default, and decodes it.
    const { data, model, usage } = await client.embeddings.create(asked)
    const vectors = await embedder.embed(asked.input, 'document')
    expect(data.map(({ embedding }) => embedding)).toEqual(vectors.map((vector) => Array.from(vector)))
    expect([model, usage]).toEqual([asked.model, { prompt_tokens: 6, total_tokens: 6 }])
    await expect(client.embeddings.create({ ...asked, model: 'other:model' })).rejects.toMatchObject(missing)
  })

  test("[17.1-6] U16 unknown paths under /v1 answer in OpenAI's error form", async () => {
    const { get, post } = await openToolServer({})
    for (const answer of [
      await get('/v1'),
      await get('/v1/nothing'),
      await post('/v1/files', {}),
      await get('/v1/chat/completions'),
    ]) {
      expect([404, 405]).toContain(answer.status)
      expect(answer.headers.get('content-type')).toContain('application/json')
      expect(await answer.json()).toEqual({
        error: { message: expect.any(String), type: 'invalid_request_error', param: null, code: null },
      })
    }
    expect(await (await get('/nothing')).json()).toMatchObject({ status: 404 })
  })
  test("[17.1-7] POST /api/ai-sdk/chat speaks the AI SDK's UI message stream: useChat works against it unchanged, with tool parts", async () => {
    const call = { name: 'get_weather', arguments: { location: 'Paris' } }
    const tools = { get_weather: () => ({ temperature: 22 }) }
    const { url, model } = await openScriptedServer([{ calls: [call] }, 'It is 22 °C.', 'Yes.'], { tools })
    const chat = new Chat({ transport: new DefaultChatTransport({ api: `${url}/api/ai-sdk/chat` }) })
    await chat.sendMessage({ text: 'How is the weather?' })
    expect([chat.status, chat.lastMessage?.parts]).toMatchObject([
      'ready',
      [
        { type: 'step-start' },
        { type: 'dynamic-tool', toolName: 'get_weather', state: 'output-available', output: { temperature: 22 } },
        { type: 'step-start' },
        { type: 'text', text: 'It is 22 °C.' },
      ],
    ])
    await chat.sendMessage({ text: 'Is that warm?' })
    const roles = model.requests[2]?.messages.map(({ role }) => role)
    expect(roles).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user'])
  })
  test('[17.1-8] useChat shows approvals of tool calls, and sends the decisions', async () => {
    const tools = { pay: () => 'paid' }
    const turns = [{ calls: [{ name: 'pay' }] }, 'It is paid.']
    const { open, key } = await openChat(turns, { tools, definition: { approval: { self: true } } })
    const chat = open('chat', { 'x-api-key': await key('acme', 'operator') })
    await chat.sendMessage({ text: 'Pay' })
    const asked = chat.lastMessage?.parts.find(({ type }) => type === 'dynamic-tool')
    expect(asked).toMatchObject({ toolName: 'pay', state: 'approval-requested' })
    await chat.addToolApprovalResponse({ id: Object(asked).approval.id, approved: true })
    const parts = [
      { type: 'step-start' },
      { type: 'dynamic-tool', toolName: 'pay', state: 'output-available', output: 'paid' },
      { type: 'step-start' },
      { type: 'text', text: 'It is paid.' },
    ]
    await vi.waitFor(() => expect(chat.lastMessage?.parts).toMatchObject(parts), { timeout: 30_000 })
  })
})
