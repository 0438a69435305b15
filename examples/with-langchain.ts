// Tools of Toolyard for LangChain, and LangChain tools in Toolyard. Run it: npx node -C toolyard-source examples/with-langchain.ts
import { tool as langchainTool, type StructuredTool } from '@langchain/core/tools'
import { createToolyard, tool } from 'toolyard'
import { toLangChain } from 'toolyard/langchain'
import { z } from 'zod'

/** A tool of Toolyard. */
const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string().min(2) }),
  effect: 'read',
  execute: ({ city }) => ({ city, degrees: 22 }),
})

/** A tool of LangChain. */
const letters = langchainTool(({ word }) => ({ word, letters: word.length }), {
  name: 'letters',
  description: 'How many letters a word has.',
  schema: z.object({ word: z.string() }),
  // Optional: further fields of a definition.
  metadata: { toolyard: { effect: 'read', timeout_ms: 2_000 } },
})

await using yard = await createToolyard({ tools: [forecast, letters] })
console.log(await yard.call('letters', { word: 'yard' }))

// For an agent: createAgent({ model, tools }). Here we call the tool as its model would.
const tools = await toLangChain<StructuredTool>(yard, { user: 'ann' })
console.log('tools:', tools.map(({ name }) => name).join(', '))
for (const args of [{ city: 'Paris' }, { town: 'Paris' }]) {
  const message = await tools[0]?.invoke({ type: 'tool_call', id: 'call_1', name: 'forecast', args })
  console.log(`${message.status}: ${message.content}`)
}
