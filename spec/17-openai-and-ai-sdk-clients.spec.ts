import { describe, test } from 'vitest'

describe('OpenAI and AI SDK clients', () => {
  test.todo('[17.1-1] /v1/chat/completions takes response_format (JSON Schema, checked)')
  test.todo('[17.1-2] /v1/chat/completions takes image input if the model can')
  test.todo('[17.1-3] /v1/chat/completions takes tool_choice: "required"')
  test.todo('[17.1-4] /v1/responses works for the official client (streaming, tools run on the server)')
  test.todo('[17.1-5] /v1/embeddings works if an embedder is configured')
  test.todo("[17.1-6] Unknown paths under /v1 answer in OpenAI's error form")
  test.todo(
    "[17.1-7] POST /api/ai-sdk/chat speaks the AI SDK's UI message stream: useChat works against it unchanged, with tool parts and approvals",
  )
})
