import { describe, expect, test } from 'vitest'
import { household, mcpYard } from './mcp-yard.ts'

describe('MCP tools', () => {
  test('see section 5', async () => {
    const { connected, execute } = await mcpYard({ home: household() })
    await connected()
    expect(await execute('ring')).toMatchObject({ success: true, result: 'rung', tool_name: 'ring' })
  })
})
