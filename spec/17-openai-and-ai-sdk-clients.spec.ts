import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { describe, expect, test, vi } from 'vitest'
import { openScriptedServer } from '../src/server/fixtures/open-scripted-server.ts'
import { openToolServer } from '../src/server/fixtures/open-tool-server.ts'
import { openChat } from '../src/server/fixtures/ui-chat.ts'

describe('OpenAI and AI SDK clients', () => {
  test.todo('[17.1-1] /v1/chat/completions takes response_format (JSON Schema, checked)')
  test.todo('[17.1-2] /v1/chat/completions takes image input if the model can')
  test.todo('[17.1-3] /v1/chat/completions takes tool_choice: "required"')
  test.todo('[17.1-4] /v1/responses works for the official client (streaming, tools run on the server)')
  test.todo('[17.1-5] /v1/embeddings works if an embedder is configured')
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
