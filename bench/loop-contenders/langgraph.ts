import type { LoopContender } from '../loop-contender.ts'
import { QUESTION, toolNames } from '../loop-script.ts'
import { DESCRIPTION } from '../weather.ts'

export const langgraph: LoopContender = {
  id: 'loop-langgraph',
  name: 'LangGraph',
  call: 'StateGraph with ToolNode, graph.invoke()',
  package: '@langchain/langgraph',
  async prepare(shape, handler) {
    const { tool } = await import('langchain')
    const { MessagesAnnotation, StateGraph } = await import('@langchain/langgraph')
    const { ToolNode, toolsCondition } = await import('@langchain/langgraph/prebuilt')
    const { weatherZod } = await import('../contenders/weather-zod.ts')
    const { LangChainModel } = await import('./langchain-model.ts')
    const tools = toolNames(shape.tools).map((name) =>
      tool(handler, { name, description: DESCRIPTION, schema: weatherZod() }),
    )
    const model = new LangChainModel(shape).bindTools(tools)
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode('tools', new ToolNode(tools))
      .addEdge('__start__', 'agent')
      .addConditionalEdges('agent', toolsCondition)
      .addEdge('tools', 'agent')
      .compile()
    const config = { recursionLimit: 10 * (shape.turns + 2) }
    return async () => {
      const { messages } = await graph.invoke({ messages: [{ role: 'user', content: QUESTION }] }, config)
      return messages.at(-1)?.text ?? ''
    }
  },
}
