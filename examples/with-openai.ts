// Tools of Toolyard for OpenAI Agents. Run it: npx node -C toolyard-source examples/with-openai.ts
import { Agent, Runner } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { createToolyard, tool } from 'toolyard'
import { toOpenAiAgents } from 'toolyard/openai-agents'
import { z } from 'zod'

const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string().min(2) }),
  effect: 'read',
  execute: ({ city }) => ({ city, degrees: 22 }),
})
await using yard = await createToolyard({ tools: [forecast] })

/** Stands for a model of OpenAI, such as 'gpt-5': it calls the tool with a mistake, then without, and answers. */
const model = new ScriptedModel([
  [functionCall('forecast', { city: 'P' }, { callId: 'call_1' })],
  [functionCall('forecast', { city: 'Paris' }, { callId: 'call_2' })],
  [assistantMessage('It is 22 degrees in Paris.')],
])

const agent = new Agent({ name: 'Meteorologist', model, tools: await toOpenAiAgents(yard, { user: 'ann' }) })
const result = await new Runner({ tracingDisabled: true }).run(agent, 'How warm is it in Paris?')
for (const item of result.newItems) if (item.type === 'tool_call_output_item') console.log(item.output)
console.log(result.finalOutput)
