import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, onTestFinished, test } from 'vitest'
import { COMPILE_CACHE } from '../mcp/fixtures/compile-cache.ts'

const PROGRAM = `
  import { createToolyard, tool } from 'toolyard'
  import { serveMcp } from 'toolyard/mcp'

  const input = { type: 'object' }
  const who = tool({
    name: 'who',
    description: 'Who calls.',
    input,
    effect: 'read',
    execute(_, { tenant, user, app }) {
      console.log('printed')
      return { tenant, user, app }
    },
  })
  const hidden = tool({ name: 'hidden', description: 'Not offered.', input, execute: () => 1 })
  await using yard = await createToolyard({ tools: [who, hidden] })
  await serveMcp(yard, { tools: ['w*'], tenant: 'acme', user: 'ann', app: 1 }).closed`

test('serveMcp serves the tools of an instance for a caller, to a client of the official SDK', async () => {
  const args = ['-C', 'toolyard-source', '--input-type=module', '-e', PROGRAM]
  const client = new Client({ name: 'test', version: '1' })
  onTestFinished(() => client.close())
  await client.connect(
    new StdioClientTransport({
      ...{ command: process.execPath, args, cwd: import.meta.dirname },
      ...{ env: COMPILE_CACHE, stderr: 'ignore' as const },
    }),
  )
  const { tools } = await client.listTools()
  expect(tools).toMatchObject([{ name: 'who', annotations: { readOnlyHint: true } }])
  const { structuredContent } = await client.callTool({ name: 'who', arguments: {} })
  expect(structuredContent).toEqual({ tenant: 'acme', user: 'ann', app: 1 })
  expect(await client.callTool({ name: 'hidden', arguments: {} })).toMatchObject({
    isError: true,
    structuredContent: { error_code: 'PERMISSION_DENIED' },
  })
})
