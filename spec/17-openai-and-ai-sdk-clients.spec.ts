import { describe, expect, test } from 'vitest'
import { openToolServer } from '../src/server/fixtures/open-tool-server.ts'

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
  test.todo(
    "[17.1-7] POST /api/ai-sdk/chat speaks the AI SDK's UI message stream: useChat works against it unchanged, with tool parts and approvals",
  )
})
