import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { serveHttp } from '../src/mcp/server/fixtures/serve-http.ts'
import { serveStdio } from '../src/mcp/server/serve-stdio.ts'
import { ToolServer } from '../src/mcp/server/tool-server.ts'
import { configured, mock } from './fixtures/tool-manager.ts'

const weather = {
  ...mock('get_weather', { temperature: 22 }),
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const secret = { ...mock('secret'), permissions: ['secrets'] }

/** Asks a server on streams as a client would, one line at a time. */
function lineClient(input: PassThrough, output: PassThrough) {
  const lines = createInterface(output)[Symbol.asyncIterator]()
  let id = 0
  return async (method: string, params: object) => {
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`)
    const { value } = await lines.next()
    return JSON.parse(value as string).result
  }
}

const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'spec', version: '1' } }

/** Runs a process that serves tools which print. Returns everything that it writes. */
async function printingServer() {
  const host = fileURLToPath(new URL('../src/mcp/server/fixtures/stdio-host.ts', import.meta.url))
  const child = spawn(process.execPath, [host])
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  const call = { name: 'noisy', arguments: { lines: 5 } }
  const messages = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: call },
  ]
  for (const message of messages) child.stdin.write(`${JSON.stringify(message)}\n`)
  while (!out.includes('"id":2')) await once(child.stdout, 'data')
  child.stdin.end()
  await once(child, 'close')
  return { out, err }
}

describe('MCP server', () => {
  let printed: Awaited<ReturnType<typeof printingServer>>
  beforeAll(async () => {
    printed = await printingServer()
  })

  test('[5.4-1] serves all tools over stdio and streamable HTTP through the executor', async () => {
    const { registry, executor, log, records } = await configured([weather, secret])
    const server = new ToolServer({ registry, executor, version: '1', log })
    const { url, close } = await serveHttp(server, { port: 0 })
    onTestFinished(close)
    const client = new Client({ name: 'spec', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    onTestFinished(() => client.close())

    const [input, output] = [new PassThrough(), new PassThrough()]
    const door = serveStdio(server, { input, output })
    onTestFinished(() => door.close())
    const ask = lineClient(input, output)
    await ask('initialize', INITIALIZE)

    const doors = [
      {
        list: () => client.listTools(),
        call: (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args }),
      },
      {
        list: () => ask('tools/list', {}),
        call: (name: string, args: Record<string, unknown>) => ask('tools/call', { name, arguments: args }),
      },
    ]
    for (const { list, call } of doors) {
      expect((await list()).tools.map((tool: { name: string }) => tool.name)).toEqual(['get_weather'])
      expect(await call('get_weather', { city: 'Oslo' })).toMatchObject({ structuredContent: { temperature: 22 } })
      expect(await call('get_weather', { city: 1 })).toMatchObject({
        isError: true,
        structuredContent: { error_code: 'INVALID_PARAMETERS' },
      })
      expect(await call('secret', {})).toMatchObject({
        isError: true,
        structuredContent: { error_code: 'PERMISSION_DENIED' },
      })
    }
    const each = [undefined, 'INVALID_PARAMETERS', 'PERMISSION_DENIED']
    expect(records().map(({ source, code }) => [source, code])).toEqual([...each, ...each].map((code) => ['mcp', code]))
  })

  test('[5.4-2] writes only JSON-RPC to stdout', async () => {
    const { out } = printed
    expect(out.endsWith('\n')).toBe(true)
    const messages = out.slice(0, -1).split('\n')
    expect(messages.map((line) => JSON.parse(line))).toMatchObject([
      { jsonrpc: '2.0', id: 1 },
      { jsonrpc: '2.0', id: 2, result: { content: [{ type: 'text', text: 'quiet' }] } },
    ])
  })

  test('[5.4-3] writes every diagnostic to stderr', async () => {
    const { err } = printed
    expect(err.match(/by console.log/g)).toHaveLength(5)
    expect(err.match(/written without a line end/g)).toHaveLength(5)
  })
})
