import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { MEMORY, mcpConfig } from '../../fixtures/mcp-config.ts'
import { BIN, ENV, emptyFolder, folder, toolyard } from '../../fixtures/toolyard.ts'

afterAll(emptyFolder)

async function serve(...args: string[]): Promise<ChildProcess> {
  const file = await mcpConfig('serve', { memory: MEMORY })
  const config = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...config, mcp: { servers_out: { local: { tools: ['echo'] } } } }))
  const child = spawn(process.execPath, [BIN, 'mcp', 'serve', '--config', file, ...args], { cwd: folder, env: ENV })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

describe('mcp serve', () => {
  test('over stdin and stdout: nothing but messages, and it ends with its input', async () => {
    const child = await serve('--only', 'local')
    const { stdin, stdout } = child
    if (stdin === null || stdout === null) throw new Error('no pipes')
    const lines = createInterface(stdout)[Symbol.asyncIterator]()
    const ask = async (id: number, method: string, params: object) => {
      stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
      for (;;) {
        const message = JSON.parse((await lines.next()).value as string)
        if (message.id === id) return message.result
      }
    }
    const clientInfo = { name: 'test', version: '1' }
    const first = await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
    expect(first.serverInfo.name).toBe('toolyard')
    const { tools } = await ask(2, 'tools/list', {})
    expect(tools).toMatchObject([{ name: 'echo', annotations: expect.anything() }])
    const called = await ask(3, 'tools/call', { name: 'echo', arguments: {} })
    expect(called.content).toEqual([{ type: 'text', text: 'local' }])
    const exited = once(child, 'exit')
    stdin.end()
    expect(await exited).toEqual([0, null])
    for await (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
  })

  test('refuses the name of a part that the configuration does not have', async () => {
    const config = await mcpConfig('parts', {})
    const { code, err } = await toolyard(['mcp', 'serve', '--config', config, '--only', 'shop'])
    expect([code, err]).toEqual([
      2,
      expect.stringContaining("There is no server 'shop' in mcp.servers_out (known: none)"),
    ])
  })

  test('over HTTP: is the whole server, with tools and resources of other servers, and ends by Ctrl-C', async () => {
    const child = await serve('--http', '0')
    if (child.stdout === null) throw new Error('no stdout')
    const { value: said } = await createInterface(child.stdout)[Symbol.asyncIterator]().next()
    const [base = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(String(said)) ?? []
    const url = `${base}/mcp`
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    const names = async () => (await client.listTools()).tools.map(({ name }) => name)
    await expect.poll(names).toEqual(expect.arrayContaining(['echo', 'read_graph']))
    const { structuredContent } = await client.callTool({ name: 'read_graph', arguments: {} })
    expect(structuredContent).toMatchObject({ entities: [] })
    const { resources } = await client.listResources()
    expect(resources).toContainEqual(expect.objectContaining({ uri: 'memory://knowledge-graph' }))
    await client.close()
    child.kill('SIGINT')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test.each([['x'], ['65536']])('--http %s is wrong usage', async (port) => {
    const { code, err } = await toolyard(['mcp', 'serve', '--http', port])
    expect([code, err]).toEqual([2, `--http takes a whole number from 0 to 65535, not '${port}'.\n`])
  })
})
