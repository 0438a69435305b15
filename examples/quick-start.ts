import { createToolyard, tool } from 'toolyard'
import { z } from 'zod'

const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string().min(2), unit: z.enum(['celsius', 'fahrenheit']).default('celsius') }),
  effect: 'read',
  execute: ({ city, unit }) => ({ city, degrees: unit === 'celsius' ? 22 : 72 }),
})
await using yard = await createToolyard({ tools: [forecast] })
console.log(await yard.call('forecast', { city: 'Paris' }))
console.log(await yard.call('forecast', { city: 'P' }))
