import { describe, test } from 'vitest'

describe('LangChain tools', () => {
  test.todo('any LangChain tool joins the collection as it is, no conversion and no wrapper object')
  test.todo('run by tool.invoke(args, {signal}), args as they are, not wrapped in {input: args}')
  test.todo('tools from @langchain/mcp-adapters likewise')
  test.todo('LangChain chat models can serve as providers, given the tools in LangChain format')
})
