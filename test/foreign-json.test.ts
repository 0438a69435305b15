import { expect, onTestFinished, test, vi } from 'vitest'
import { redactedJson } from '../src/core/records/redact.ts'
import { readReply } from '../src/knowledge/tools/model-tool.ts'
import { AnswerReader } from '../src/models/ai-sdk/ai-sdk-model.ts'
import { toPrompt } from '../src/models/ai-sdk/prompt.ts'
import { LangchainReader, langchainMessages } from '../src/models/langchain/langchain-model.ts'
import type { Message } from '../src/models/model.ts'
import { ollamaMessage } from '../src/models/providers/ollama.ts'

const DEEP = '['.repeat(1_000_000)
const CALL = { id: 'a', type: 'function', function: { name: 'x', arguments: DEEP } } as const
const MESSAGES: readonly Message[] = [{ role: 'assistant', content: '', tool_calls: [CALL] }]

test.each<[string, () => unknown]>([
  ['a text among the parameters, when a call is recorded', () => redactedJson({ text: DEEP })],
  ['the reply of a model to a knowledge tool', () => [...readReply(DEEP)]],
  [
    'arguments that go back to an AI SDK model',
    () => toPrompt(MESSAGES, { marksFailures: true, systemAnywhere: true }),
  ],
  ['arguments that go back to a LangChain model', () => langchainMessages(MESSAGES)],
  ['arguments that go back to Ollama', () => MESSAGES.map(ollamaMessage)],
  [
    'arguments from an AI SDK model',
    () => [...new AnswerReader().read({ type: 'tool-call', toolCallId: 'a', toolName: 'x', input: DEEP })],
  ],
  [
    'arguments from a LangChain model',
    () => {
      const reader = new LangchainReader()
      const chunk = { content: '', invalid_tool_calls: [{ id: 'a', name: 'x', args: DEEP }] }
      return [...reader.read({ ...chunk, response_metadata: { finish_reason: 'length' } }), ...reader.end()]
    },
  ],
])('1 MB of opening brackets is not parsed: %s', (_what, read) => {
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  read()
  expect(parse.mock.calls.filter(([text]) => text.length > 1_000)).toEqual([])
})
