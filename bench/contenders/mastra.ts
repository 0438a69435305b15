import type { Contender } from '../contender.ts'
import { DESCRIPTION, NAME } from '../weather.ts'

const observe = { span: async <T>(_name: string, run: () => Promise<T> | T) => await run(), log: () => {} }

export const mastra: Contender = {
  id: 'mastra',
  name: 'Mastra',
  call: 'tool.execute(params)',
  package: '@mastra/core',
  deadline: 'no',
  permission: 'no',
  record: 'no',
  async prepare(params, handler) {
    const { createTool } = await import('@mastra/core/tools')
    const { weatherZod } = await import('./weather-zod.ts')
    const weather = createTool({ id: NAME, description: DESCRIPTION, inputSchema: weatherZod(), execute: handler })
    return async () => await weather.execute?.(params as { location: string }, { observe })
  },
}
