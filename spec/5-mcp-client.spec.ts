import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ManualClock } from 'toolyard/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { MCP_RETRY_ATTEMPTS, MCP_RETRY_BASE_DELAY } from '../src/mcp/client/retry-plan.ts'
import { serveHttp } from '../src/mcp/server/http/serve-http.ts'
import { ToolServer } from '../src/mcp/server/tool-server.ts'
import { household, mcpYard, missing } from './mcp-yard.ts'
import { mock, yard } from './yard.ts'

/** Moves time on, second by second, with room for what happens in between. */
async function pass(clock: ManualClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await new Promise((resolve) => setTimeout(resolve, 30))
    clock.advance(1_000)
  }
}

/** A yard whose only server cannot be reached, after all attempts. */
async function givenUp() {
  const clock = new ManualClock()
  const around = await mcpYard({ lost: missing }, { clock, registry: [mock('echo')] })
  const done = () => around.said().includes('MCP connection failed after 3 attempts')
  for (let second = 0; second < 200 && !done(); second++) await pass(clock, 1)
  expect(around.said()).toContain('MCP connection failed after 3 attempts')
  return { ...around, clock }
}

describe('MCP client', () => {
  test('servers from the usual mcpServers configuration (stdio and streamable HTTP)', async () => {
    const { registry, executor } = await yard({ web_tool: { run: async () => 'from the web' } })
    const service = await serveHttp(new ToolServer({ registry, executor, version: '1' }), { port: 0 })
    onTestFinished(() => service.close())
    const { connected, execute } = await mcpYard({ home: household(), web: { url: service.url } })
    await connected()
    expect(await execute('look')).toMatchObject({ result: 'dark' })
    expect(await execute('web_tool')).toMatchObject({ result: 'from the web' })
  })

  test('their tools are discovered and join the registry', async () => {
    const { connected, registry } = await mcpYard({ home: household() })
    await connected()
    expect(registry.get('ring')).toMatchObject({
      description: 'Rings.',
      implementation: { type: 'mcp', server: 'home' },
    })
  })

  test("changes to a server's list are followed", async () => {
    const { connected, registry, execute } = await mcpYard({ home: household() })
    await connected()
    expect(registry.has('new_trick')).toBe(false)
    await execute('learn')
    await vi.waitFor(() => expect(registry.has('new_trick')).toBe(true), { timeout: 5_000 })
    expect(await execute('new_trick')).toMatchObject({ result: 'ta-da' })
  })

  test('connection: 3 attempts with delays 0, 2 s, 4 s', async () => {
    expect([MCP_RETRY_ATTEMPTS, MCP_RETRY_BASE_DELAY]).toEqual([3, 2_000])
    const clock = new ManualClock()
    const { log, said } = await mcpYard({ lost: missing }, { clock })
    const attempts = () => log.lines.filter(({ message }) => /^MCP connection attempt \d of 3$/.test(message)).length
    // How long an attempt takes is the machine's affair: time goes on when it is over.
    const failed = async (attempt: number) => {
      await vi.waitFor(() => expect(said()).toContain(`MCP connection attempt ${attempt} failed`), { timeout: 20_000 })
      await vi.waitFor(() => expect(clock.pending).toBeGreaterThan(0))
      expect(attempts()).toBe(attempt)
    }
    await failed(1)
    await pass(clock, 1)
    expect(attempts()).toBe(1)
    await pass(clock, 1)
    await failed(2)
    await pass(clock, 3)
    expect(attempts()).toBe(2)
    await pass(clock, 1)
    await vi.waitFor(() => expect(attempts()).toBe(3))
  })

  test('connection: each attempt logged with number and delay', async () => {
    const { log } = await givenUp()
    const attempts = log.lines.filter(({ message }) => /^MCP connection attempt \d of 3$/.test(message))
    expect(attempts.map(({ fields }) => [fields.attempt, fields.delay_ms])).toEqual([
      [1, 0],
      [2, 2_000],
      [3, 4_000],
    ])
  })

  test('connection: MCP connection succeeded on attempt 2', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-mcp-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const { connected, said } = await mcpYard({ home: household('fails-first', join(folder, 'started')) })
    await connected()
    expect(said()).toContain('MCP connection succeeded on attempt 2')
  })

  test('final failure: MCP connection failed after 3 attempts, then lines Reason, MCP Server stderr, Check', async () => {
    const { said } = await givenUp()
    const lines = said().slice(said().indexOf('MCP connection failed after 3 attempts'))
    expect(lines).toEqual([
      'MCP connection failed after 3 attempts',
      expect.stringMatching(/^Reason: .+/),
      expect.stringMatching(/^MCP Server stderr: /),
      expect.stringMatching(/^Check: .+/),
      expect.stringMatching(/^Continuing with local tools only/),
    ])
  })

  test('Continuing with local tools only; and it does', async () => {
    const { said, execute } = await givenUp()
    expect(said()).toContain('Continuing with local tools only (echo)')
    expect(await execute('echo')).toMatchObject({ success: true })
  })

  test('final failure: afterwards it is tried again in the background', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-mcp-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const clock = new ManualClock()
    const script = `test -e ${folder}/ready && exec ${process.execPath} ${household().args[0]}; exit 1`
    const { said, execute } = await mcpYard({ home: { command: 'sh', args: ['-c', script] } }, { clock })
    for (let step = 0; step < 20 && !said().includes('MCP connection failed after 3 attempts'); step++)
      await pass(clock, 1)
    await rm(join(folder, 'ready'), { force: true })
    const { writeFile } = await import('node:fs/promises')
    await writeFile(join(folder, 'ready'), '')
    clock.advance(30_000)
    await vi.waitFor(() => expect(said()).toContain('MCP connection succeeded in the background'), { timeout: 10_000 })
    expect(await execute('look')).toMatchObject({ result: 'dark' })
  })

  test('connecting never holds up what does not need it', async () => {
    const silent = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] }
    const began = performance.now()
    const { execute, registry } = await mcpYard({ silent, home: household() }, { registry: [mock('echo')] })
    expect(await execute('echo')).toMatchObject({ success: true })
    expect(performance.now() - began).toBeLessThan(2_000)
    await vi.waitFor(() => expect(registry.has('look')).toBe(true), { timeout: 10_000 })
  })

  test("a line on the server's stdout that is not JSON-RPC is reported with its content", async () => {
    const { connected, execute, log } = await mcpYard({ home: household() })
    await connected()
    await execute('chatter')
    expect(JSON.stringify(log.at('warn'))).toContain('Lamp 3 is warm')
  })

  test('the next message is handled as usual', async () => {
    const { connected, execute } = await mcpYard({ home: household() })
    await connected()
    expect(await execute('chatter')).toMatchObject({ result: 'done' })
    expect(await execute('look')).toMatchObject({ result: 'dark' })
  })

  test('a server that dies in mid-use is reconnected', async () => {
    const { connected, execute, said } = await mcpYard({ home: household() })
    await connected()
    await execute('die')
    await vi.waitFor(() => expect(said().filter((line) => line.includes('succeeded'))).toHaveLength(2), {
      timeout: 10_000,
    })
    expect(await execute('look')).toMatchObject({ result: 'dark' })
  })

  test('calls meanwhile fail cleanly', async () => {
    const { connected, execute } = await mcpYard({ home: household() })
    await connected()
    const lost = await execute('die')
    expect(lost).toMatchObject({ success: false, error_code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' })
    expect(lost).toMatchObject({ error: expect.stringContaining("tool 'die' is unavailable") })
  })

  test('errors from the server reach the caller unchanged', async () => {
    const { connected, execute } = await mcpYard({ home: household() })
    await connected()
    expect(await execute('fail')).toMatchObject({ error_code: 'EXECUTION_ERROR', error: 'the lamp is broken' })
  })
})
