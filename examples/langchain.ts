// LangChain tools in the yard, and tools of the yard for LangChain. Run it: npx node -C toolyard-source examples/langchain.ts
import { type StructuredTool, tool } from '@langchain/core/tools'
import { silentLog, ToolManager, toLangChain } from 'toolyard'
import { z } from 'zod'

/** A tool of LangChain. It joins as it is. */
const countLetters = tool(({ word }) => ({ word, letters: word.length }), {
  name: 'count_letters',
  description: 'How many letters a word has.',
  schema: z.object({ word: z.string() }),
  // Optional: what a definition of ours may say besides.
  metadata: { toolyard: { effect: 'read', timeout_ms: 2_000 } },
})

/** A tool of ours. */
const weather = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  implementation: { type: 'mock', mock_response: { temperature: 22 } },
}

const manager = new ToolManager({ tools: { enabled: true, registry: [weather] } }, { log: silentLog })
await manager.loadTools()
manager.getRegistry().register(countLetters)
console.log('the same object:', manager.getRegistry().get('count_letters') === countLetters)
console.log(await manager.getExecutor().execute('count_letters', { word: 'yard' }))
console.log(await manager.getExecutor().execute('count_letters', { word: 7 }))

// All of them for an agent: createAgent({ model, tools }). Here we call them as its model would.
const tools = await toLangChain<StructuredTool>(manager)
console.log('handed out:', tools.map(({ name }) => name).join(', '))
for (const args of [{ city: 'Paris' }, { town: 'Paris' }]) {
  const message = await tools[0]?.invoke({ type: 'tool_call', id: 'call_1', name: 'get_weather', args })
  console.log(`${message.status}: ${message.content}`)
}
await manager.close()
