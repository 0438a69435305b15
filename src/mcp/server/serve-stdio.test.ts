import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Client, type ClientOptions } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, onTestFinished, test } from 'vitest'
import { toolyard } from '../../core/fixtures/code-yard.ts'
import { COMPILE_CACHE } from '../fixtures/compile-cache.ts'
import { type Era, INITIALIZE, until } from './fixtures/http-yard.ts'
import { serveStdio } from './serve-stdio.ts'
import { ToolServer } from './tool-server.ts'

const FULL = process.env.TOOLYARD_TEST_FULL === '1'
const HOST = fileURLToPath(new URL('fixtures/stdio-host.ts', import.meta.url))

/** A client of the SDK, and the process that it has started. */
async function connect(era: Era, rest: ClientOptions = {}, args: readonly string[] = []) {
  const mode = era === 'modern' ? ('auto' as const) : ('legacy' as const)
  const client = new Client({ name: 'test', version: '1' }, { ...rest, versionNegotiation: { mode } })
  const program = { command: process.execPath, args: [HOST, ...args], env: COMPILE_CACHE }
  const transport = new StdioClientTransport({ ...program, stderr: 'pipe' })
  let said = ''
  transport.stderr?.on('data', (chunk) => {
    said += chunk
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return { client, said: () => said }
}

/** The bare process, and everything it has written. */
function host() {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [HOST])
  onTestFinished(() => void child.kill('SIGKILL'))
  const heard = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    heard.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    heard.err += text
  })
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const messages = () =>
    heard.out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  return { child, heard, send, messages }
}

describe.each<[Era, string]>([
  ['legacy', '2025-11-25'],
  ['modern', '2026-07-28'],
])('over standard input and output, a client of the %s era', (era, version) => {
  test('lists and calls tools, whatever they print', async () => {
    const { client, said } = await connect(era)
    expect(client.getNegotiatedProtocolVersion()).toBe(version)
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('noisy')
    const call = { name: 'noisy', arguments: { lines: 3 } }
    expect((await client.callTool(call)).content).toEqual([{ type: 'text', text: 'quiet' }])
    expect((await client.callTool({ name: 'echo', arguments: { a: 'ü' } })).structuredContent).toEqual({ a: 'ü' })
    const large = (await client.callTool({ name: 'large' })).content[0]
    expect(large).toEqual({ type: 'text', text: 'é'.repeat(400_000) })
    expect(said().match(/printed by console.info/g)).toHaveLength(3)
  })

  const everything = FULL || era === 'modern'
  test.runIf(everything)('hears of progress, and is told when the list has changed', async () => {
    let changed = 0
    const onChanged = () => void changed++
    const { client } = await connect(era, { listChanged: { tools: { onChanged, autoRefresh: false } } })
    const heard: unknown[] = []
    const onprogress = ({ progress }: { progress: number }) => void heard.push(progress)
    const ended = client.callTool({ name: 'slow', arguments: { waits: true } }, { onprogress })
    await until(() => heard.length === 2)
    await client.callTool({ name: 'progress_heard' })
    await ended
    expect(heard).toEqual([1, 2])
    await client.callTool({ name: 'grow' })
    await until(() => changed === 1)
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('grown')
  })

  test.runIf(everything)('cancels a call', async () => {
    const { client, said } = await connect(era)
    const abort = new AbortController()
    const onprogress = () => abort.abort('enough')
    await expect(client.callTool({ name: 'forever' }, { signal: abort.signal, onprogress })).rejects.toThrow()
    await until(() => said().includes('told: cancelled'))
  })

  test.runIf(everything)('is the caller that it was started as', async () => {
    const { client } = await connect(era, {}, ['without-echo'])
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('echo')
    expect(await client.callTool({ name: 'echo' })).toMatchObject({ isError: true })
    await expect(client.callTool({ name: 'none' })).rejects.toThrow("Tool 'none' not found")
  })
})

test('every byte of the output is a message on a line of its own, and prints go to standard error', async () => {
  const { child, heard, send, messages } = host()
  send(INITIALIZE)
  await until(() => heard.out.endsWith('\n'))
  send({ method: 'notifications/initialized' })
  send({ id: 1, method: 'tools/call', params: { name: 'noisy', arguments: { lines: 100 } } })
  send({ id: 2, method: 'tools/call', params: { name: 'slow', _meta: { progressToken: 'p' } } })
  send({ id: 3, method: 'tools/call', params: { name: 'large' } })
  child.stdin.write('this is no message\n')
  send({ id: 4, method: 'ping' })
  await until(() => heard.out.includes('"id":4') && heard.out.includes('"id":3') && heard.out.endsWith('\n'))
  child.stdin.end()
  const [code] = await once(child, 'close')
  expect(code).toBe(0)
  expect(heard.out.endsWith('\n')).toBe(true)
  expect(messages().map(({ jsonrpc, id, method }) => [jsonrpc, id ?? method])).toEqual(
    expect.arrayContaining([
      ['2.0', 0],
      ['2.0', 1],
      ['2.0', 2],
      ['2.0', 3],
      ['2.0', 4],
      ['2.0', 'notifications/progress'],
    ]),
  )
  expect(messages()).toHaveLength(7)
  const order = messages().filter(({ id, method }) => id === 2 || method !== undefined)
  expect(order.map(({ params }) => params?.progress)).toEqual([1, 2, undefined])
  expect(messages().find(({ id }) => id === 1).result.content).toEqual([{ type: 'text', text: 'quiet' }])
  expect(heard.err.match(/printed by console.info/g)).toHaveLength(100)
  expect(heard.err.match(/by console.log/g)).toHaveLength(100)
  expect(heard.err.match(/written without a line end/g)).toHaveLength(100)
  expect(heard.err).toContain('printed after the client has gone')
})

test('the process ends with its input, and cancels what is running', async () => {
  const { child, heard, send } = host()
  send(INITIALIZE)
  await until(() => heard.out.endsWith('\n'))
  send({ id: 1, method: 'tools/call', params: { name: 'forever', _meta: { progressToken: 1 } } })
  await until(() => heard.out.includes('notifications/progress'))
  child.stdin.end()
  expect(await once(child, 'close')).toEqual([0, null])
  expect(heard.err).toContain('told: cancelled')
})

test('the process ends when nobody reads its output any more', async () => {
  const { child, heard, send } = host()
  send(INITIALIZE)
  await until(() => heard.out.endsWith('\n'))
  child.stdout.destroy()
  send({ id: 1, method: 'tools/call', params: { name: 'large' } })
  send({ id: 2, method: 'tools/call', params: { name: 'large' } })
  expect(await once(child, 'close')).toEqual([0, null])
})

test('restores process.stdout and console when it is closed', async () => {
  const { registry, executor } = toolyard()
  const server = new ToolServer({ registry, executor, version: '1' })
  const before = [process.stdout, globalThis.console]
  const service = serveStdio(server, { input: new PassThrough(), output: new PassThrough() })
  expect(process.stdout).toBe(process.stderr)
  await service.close()
  server.close()
  expect([process.stdout, globalThis.console]).toEqual(before)
})

test.each<Era>(['legacy', 'modern'])('checks an argument called __proto__ of a %s client', async (era) => {
  const { client } = await connect(era)
  const args = JSON.parse('{"__proto__":"x","a":1}')
  const { content } = await client.callTool({ name: 'echo', arguments: args })
  expect(content).toEqual([{ type: 'text', text: "Invalid parameters: the key '__proto__' is not allowed" }])
})
