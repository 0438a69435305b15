import type { Contender } from '../contender.ts'
import { DESCRIPTION, NAME } from '../weather.ts'

export const langgraph: Contender = {
  id: 'langgraph',
  name: 'LangGraph ToolNode',
  call: 'node.invoke({messages})',
  package: '@langchain/langgraph',
  deadline: 'no',
  permission: 'no',
  record: 'option',
  async prepare(params, handler) {
    const { AIMessage, tool } = await import('langchain')
    const { ToolNode } = await import('@langchain/langgraph/prebuilt')
    const { weatherZod } = await import('./weather-zod.ts')
    const weather = tool(handler, { name: NAME, description: DESCRIPTION, schema: weatherZod() })
    const node = new ToolNode([weather])
    const call = { name: NAME, args: params, id: 'call_1', type: 'tool_call' as const }
    const messages = [new AIMessage({ content: '', tool_calls: [call] })]
    return () => node.invoke({ messages })
  },
}
