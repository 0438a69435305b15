import type { Contender } from '../contender.ts'
import { DESCRIPTION, NAME } from '../weather.ts'

export const langchain: Contender = {
  id: 'langchain',
  name: 'LangChain',
  call: 'tool.invoke(params)',
  package: '@langchain/core',
  deadline: 'option',
  permission: 'no',
  record: 'option',
  async prepare(params, handler) {
    const { tool } = await import('langchain')
    const { weatherZod } = await import('./weather-zod.ts')
    const weather = tool(handler, { name: NAME, description: DESCRIPTION, schema: weatherZod() })
    return () => weather.invoke(params as { location: string })
  },
}
