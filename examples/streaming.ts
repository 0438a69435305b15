// The events of a run, and a second question. Run it: npx node -C toolyard-source examples/streaming.ts
import { createToolyard, type Message, tool } from 'toolyard'
import { scripted } from 'toolyard/testing'
import { z } from 'zod'

const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }, { report }) => {
    report({ asked: 1, of: 1 })
    return { city, degrees: 22 }
  },
})
/** Stands for a model such as 'openai:gpt-5'. */
const model = scripted({ calls: [{ name: 'forecast', arguments: { city: 'Paris' } }] }, 'It is 22 degrees.', 'Yes.')
await using yard = await createToolyard({ tools: [forecast], models: { model } })

let messages: readonly Message[] = [{ role: 'user', content: 'How warm is Paris?' }]
for await (const event of yard.stream({ model: 'model', messages })) {
  if (event.type === 'text-delta') process.stdout.write(event.text)
  if (event.type === 'call-progress') console.log(event.tool, event.progress)
  if (event.type === 'call-result') console.log(event.call.tool, event.call.result)
  if (event.type === 'answer') messages = event.messages
}
const { content, stop_reason, error } = await yard.run({
  model: 'model',
  messages: [...messages, { role: 'user', content: 'Is that warm?' }],
})
console.log(stop_reason === 'error' ? error : content)
