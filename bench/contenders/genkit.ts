import type { Contender } from '../contender.ts'
import { DESCRIPTION, NAME } from '../weather.ts'

export const genkit: Contender = {
  id: 'genkit',
  name: 'Genkit',
  call: 'tool(params)',
  package: 'genkit',
  deadline: 'no',
  permission: 'no',
  record: 'always',
  async prepare(params, handler) {
    const { genkit, z } = await import('genkit')
    const { logger } = await import('genkit/logging')
    logger.setLogLevel('error')
    const inputSchema = z.object({ location: z.string(), units: z.enum(['celsius', 'fahrenheit']).optional() })
    const weather = genkit({}).defineTool({ name: NAME, description: DESCRIPTION, inputSchema }, handler)
    return () => weather(params as { location: string })
  },
}
