import { expect, onTestFinished, test } from 'vitest'
import { openTestServer } from './fixtures/open-server.ts'

const GIVEN = 'given-4711'

/** An MCP server that repeats the parameters of a call wherever it can. */
const ECHOING = `
  let told = ''
  const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  const results = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: { listChanged: true }, prompts: {}, logging: {} },
      serverInfo: { name: 'echoing', version: '1' },
    },
    'tools/list': { tools: [{ name: 'tell', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [] },
  }
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    if (method === 'tools/call') {
      told = params.arguments.text
      const message = 'told ' + told
      process.stderr.write(message + '\\n')
      process.stdout.write(message + '\\n' + '[' .repeat(2000) + message + '\\n')
      process.stdout.write(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","method":"x","params":{"a":"' + message), Buffer.from([0xff, 0x22, 0x7d, 0x7d, 0x0a])]))
      write({ id: 4711, result: { message } })
      write({ method: 'notifications/message', params: { level: 'error', data: message } })
      write({ method: 'notifications/tools/list_changed' })
    }
    if (told !== '' && method !== 'tools/call') write({ id, error: { code: -32000, message: 'told ' + told } })
    else if (results[method]) write({ id, result: results[method] })
    else write({ id, error: { code: -32601, message: 'no such method' } })
  })`

/** What a server logs during a call of the MCP server and after it. */
async function logged(payloads: 'off' | 'errors' | 'all') {
  const echoing = { command: process.execPath, args: ['-e', ECHOING] }
  const server = await openTestServer({
    tools: { enabled: true },
    storage: { payloads },
    mcpServers: { echoing },
  })
  onTestFinished(() => server.close())
  const messages = () => server.log.lines.map(({ message }) => message)
  await expect.poll(messages, { timeout: 30_000 }).toContain('MCP connection succeeded on attempt 1')
  const headers = {
    authorization: `Bearer ${await server.key('acme')}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const post = (path: string, body: object) =>
    fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const called = await post('/tools/execute', { tool_name: 'tell', params: { text: GIVEN } })
  expect(called.status).toBe(200)
  expect((await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'prompts/list', params: {} })).status).toBe(200)
  await expect.poll(messages, { timeout: 8_000 }).toContain('MCP tools changed, but listing them failed')
  return server.log.lines
}

const WARNED = 'The MCP server wrote a line that is not a JSON-RPC message'

test.each(['off', 'errors'] as const)(
  'the log does not say what an MCP server says with payloads %s',
  async (policy) => {
    const lines = await logged(policy)
    expect(lines.filter((line) => JSON.stringify(line).includes(GIVEN))).toEqual([])
    const about = (wanted: string) => lines.find(({ message }) => message.startsWith(wanted))?.fields
    const bytes = `told ${GIVEN}`.length
    expect(about(WARNED)).toEqual({ server: 'echoing', command: process.execPath, calls: ['tell'], bytes })
    expect(about('MCP connection reported an error')).toEqual({ server: 'echoing', reason: 'Error' })
    const reason = 'ProtocolError -32000'
    expect(about('MCP tools changed, but')).toEqual({ server: 'echoing', reason })
    expect(about('MCP server did not answer a list')).toEqual({ server: 'echoing', list: 'prompts', reason })
  },
)

test('the log says what an MCP server says with payloads all', async () => {
  const lines = await logged('all')
  const told = lines.filter((line) => JSON.stringify(line).includes(GIVEN)).map(({ message }) => message)
  expect(told).toEqual(
    expect.arrayContaining([
      WARNED,
      'The MCP server wrote a message that is not valid UTF-8',
      'MCP connection reported an error',
      'MCP server did not answer a list request',
      'MCP tools changed, but listing them failed',
    ]),
  )
})
