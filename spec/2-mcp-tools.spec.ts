import { describe, expect, test } from 'vitest'
import { household, withMcpServers } from './fixtures/mcp-servers.ts'

describe('MCP tools', () => {
  test('[2.7-1] executes an MCP tool like any other', async () => {
    const { connected, execute } = await withMcpServers({ home: household() })
    await connected()
    expect(await execute('ring')).toMatchObject({ success: true, result: 'rung', tool_name: 'ring' })
  })
})
