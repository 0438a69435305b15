// Tools of Toolyard for the AI SDK, and AI SDK tools in Toolyard. Run it: npx node -C toolyard-source examples/with-ai-sdk.ts
import { tool as aiTool, generateText, isStepCount } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { createToolyard, tool } from 'toolyard'
import { fromAiSdk, toAiSdk } from 'toolyard/ai-sdk'
import { z } from 'zod'

/** A tool of Toolyard. */
const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string().min(2) }),
  effect: 'read',
  execute: ({ city }) => ({ city, degrees: 22 }),
})

/** A tool of the AI SDK. */
const letters = aiTool({
  description: 'How many letters a word has.',
  inputSchema: z.object({ word: z.string() }),
  execute: async ({ word }) => word.length,
})

await using yard = await createToolyard({
  tools: [forecast, ...fromAiSdk({ letters }, { letters: { effect: 'read', timeoutMs: 2_000 } })],
})
console.log(await yard.call('letters', { word: 'yard' }))

/** Stands for a model of a provider: it calls two tools, the second with a mistake, and then answers. */
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}
const model = new MockLanguageModelV4({
  doGenerate: [
    {
      content: [
        { type: 'tool-call', toolCallId: 'call_1', toolName: 'forecast', input: '{"city":"Paris"}' },
        { type: 'tool-call', toolCallId: 'call_2', toolName: 'letters', input: '{"word":7}' },
      ],
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    },
    {
      content: [{ type: 'text', text: 'It is 22 degrees in Paris.' }],
      finishReason: { unified: 'stop', raw: undefined },
      usage,
      warnings: [],
    },
  ],
})

const { text, steps } = await generateText({
  model,
  tools: toAiSdk(yard, { user: 'ann' }),
  prompt: 'How warm is it in Paris?',
  stopWhen: isStepCount(5),
})
for (const part of steps[0]?.content ?? []) {
  if (part.type === 'tool-result') console.log(part.toolName, part.output)
  if (part.type === 'tool-error') console.log(part.toolName, String(part.error))
}
console.log(text)
