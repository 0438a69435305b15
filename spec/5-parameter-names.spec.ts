import { describe, test } from 'vitest'

describe('Parameter names', () => {
  test.todo('static mappings first, in one table')
  test.todo("then names the server's schema declares pass untouched")
  test.todo('then snake_case becomes camelCase')
  test.todo('names without underscore pass')
  test.todo('Top-level names only')
  test.todo('it applies to tools of our MCP client and of @langchain/mcp-adapters, never to builtin')
  test.todo('a change is logged as {device_name: …} → {deviceName: …}')
  test.todo('the decision and its reason are documented where the code is')
})
