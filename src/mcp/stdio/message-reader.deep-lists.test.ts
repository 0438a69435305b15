import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { deepSchema, deepText } from '../../core/fixtures/foreign-json.ts'
import { serverTool } from '../client/listed-tool.ts'
import { checkedText, MessageReader } from './message-reader.ts'

const GOOD = '{"name":"good","inputSchema":{"type":"object"}}'
const answer = (result: string) => `{"jsonrpc":"2.0","id":7,"result":${result}}`
const tooDeep = { error: { message: 'The server answered with JSON that is nested deeper than 520 levels' } }

/** The answer that the SDK gets, over stdio and over HTTP. */
function readTwice(text: string): unknown {
  const messages: JSONRPCMessage[] = []
  const reader = new MessageReader(10_000_000, { message: (one) => messages.push(one), noise: () => {} })
  reader.push(Buffer.from(`${text}\n`))
  expect([JSON.parse(checkedText(text) ?? 'null')]).toEqual(messages)
  return messages[0]
}

test.each([600, 50_000])('a tool with %d levels is left out of a list, and the others stay', (levels) => {
  const list = answer(
    `{"tools":[${GOOD},{"name":"deep","inputSchema":${deepSchema(levels)}},${GOOD}],"nextCursor":"a"}`,
  )
  const { result } = readTwice(list) as { result: { tools: unknown[]; nextCursor: unknown } }
  expect(result.nextCursor).toBe('a')
  const [first, deep, last] = result.tools.map((tool) => serverTool(tool, 'home'))
  expect(deep).toBe(`Tool "deep" of MCP server 'home' is nested too deeply`)
  expect([first, last]).toMatchObject([{ name: 'good' }, { name: 'good' }])
})

test.each([
  ['the result of a call', `{"content":[],"structuredContent":${deepText(600)}}`],
  ['a list next to something deep', `{"tools":[${GOOD}],"_meta":${deepText(600)}}`],
  ['a list that is none', `{"tools":${deepText(600)}}`],
  ['a list that does not end', `{"tools":[${'['.repeat(2_000)}`],
])('%s is refused', (_what, result) => {
  expect(readTwice(answer(result))).toMatchObject({ id: 7, ...tooDeep })
})
