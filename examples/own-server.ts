// Tools in your own program, served over HTTP and MCP. Run it: npx node -C toolyard-source examples/own-server.ts
import { tool } from 'toolyard'
import { serve } from 'toolyard/server'
import { z } from 'zod'

const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string().min(2) }),
  effect: 'read',
  execute: ({ city }) => ({ city, degrees: 22 }),
})
await using server = await serve({ tools: [forecast], port: 0 })

for (const city of ['Paris', 'P']) {
  const response = await fetch(`${server.url}/tools/execute`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tool_name: 'forecast', params: { city } }),
  })
  console.log(response.status, await response.json())
}
