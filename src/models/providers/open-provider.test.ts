import { expect, test } from 'vitest'
import { AnthropicClient, OllamaClient, OpenAIClient } from './open-provider.ts'

test.each([
  [OpenAIClient, { timeoutMs: Number.NaN }, 'unknown option "timeoutMs". Did you mean "timeout_ms"?'],
  [AnthropicClient, { timeout_ms: Number.NaN }, 'timeout_ms must be a number above 0, not NaN'],
  [OllamaClient, { baseUrl: 'http://localhost' }, 'unknown option "baseUrl". Did you mean "base_url"?'],
  [OpenAIClient, { api_key: 5 }, 'api_key must be a string, not 5'],
  [OpenAIClient, { api: 'rest' }, 'api must be "responses" or "chat", not "rest"'],
  [OpenAIClient, { headers: { a: 1 } }, 'headers must be an object whose values are strings, not an object'],
  [OpenAIClient, 'key', 'options must be an object, not "key"'],
])('a client is not made with wrong settings (%#)', (Client, settings, problem) => {
  expect(() => new Client(settings as object)).toThrow(`${Client.name}: ${problem}`)
})
