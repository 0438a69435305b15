import { describe, test } from 'vitest'

describe('MCP server', () => {
  test.todo('all tools are served over MCP, stdio and streamable HTTP, through the same executor')
  test.todo('stdout carries newline-delimited JSON-RPC and nothing else')
  test.todo('every diagnostic goes to stderr')
})
