import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ManualClock } from 'toolyard/testing'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { MCP_RETRY_ATTEMPTS, MCP_RETRY_BASE_DELAY } from '../src/mcp/client/server-settings.ts'
import { serveHttp } from '../src/mcp/server/fixtures/serve-http.ts'
import { ToolServer } from '../src/mcp/server/tool-server.ts'
import { household, missing, openMcpServers, withMcpServers } from './fixtures/mcp-servers.ts'
import { mock, withTools } from './fixtures/tool-manager.ts'

/** Moves time on, second by second, with room for what happens in between. */
async function pass(clock: ManualClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await new Promise((resolve) => setTimeout(resolve, 30))
    clock.advance(1_000)
  }
}

/** Opens a tool manager whose only server is unreachable, and makes all attempts. */
async function openLost() {
  const clock = new ManualClock()
  const opened = await openMcpServers({ lost: missing }, { clock, registry: [mock('echo')] })
  const done = () => opened.said().includes('MCP connection failed after 3 attempts')
  for (let second = 0; second < 200 && !done(); second++) await pass(clock, 1)
  expect(opened.said()).toContain('MCP connection failed after 3 attempts')
  return opened
}

describe('MCP client', () => {
  let home: Awaited<ReturnType<typeof openMcpServers>>
  let lost: Awaited<ReturnType<typeof openLost>>
  beforeAll(async () => {
    home = await openMcpServers({ home: household() })
    await home.connected()
    lost = await openLost()
  })
  afterAll(async () => {
    await home.manager.close()
    await lost.manager.close()
  })

  test('[5.1-1] connects to stdio and streamable HTTP servers of mcpServers', async () => {
    const { registry, executor } = await withTools({ web_tool: { run: async () => 'from the web' } })
    const service = await serveHttp(new ToolServer({ registry, executor, version: '1' }), { port: 0 })
    onTestFinished(() => service.close())
    const { connected, execute } = await withMcpServers({ home: household(), web: { url: service.url } })
    await connected()
    expect(await execute('look')).toMatchObject({ result: 'dark' })
    expect(await execute('web_tool')).toMatchObject({ result: 'from the web' })
  })

  test('[5.1-2] registers the tools of a server', async () => {
    expect(home.registry.get('ring')).toMatchObject({
      description: 'Rings.',
      implementation: { type: 'mcp', server: 'home' },
    })
  })

  test("[5.1-3] follows changes to a server's list", async () => {
    const { connected, registry, execute } = await withMcpServers({ home: household() })
    await connected()
    expect(registry.has('new_trick')).toBe(false)
    await execute('learn')
    await vi.waitFor(() => expect(registry.has('new_trick')).toBe(true))
    expect(await execute('new_trick')).toMatchObject({ result: 'ta-da' })
  })

  test('[5.1-4] attempts a connection 3 times, with delays 0, 2 s and 4 s', async () => {
    expect([MCP_RETRY_ATTEMPTS, MCP_RETRY_BASE_DELAY]).toEqual([3, 2_000])
    const clock = new ManualClock()
    const { log, said } = await withMcpServers({ lost: missing }, { clock })
    const attempts = () => log.lines.filter(({ message }) => /^MCP connection attempt \d of 3$/.test(message)).length
    // How long an attempt takes is the machine's affair: time goes on when it is over.
    const failed = async (attempt: number) => {
      await vi.waitFor(() => expect(said()).toContain(`MCP connection attempt ${attempt} failed`))
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

  test('[5.1-5] logs each attempt with number and delay', async () => {
    const attempts = lost.log.lines.filter(({ message }) => /^MCP connection attempt \d of 3$/.test(message))
    expect(attempts.map(({ fields }) => [fields.attempt, fields.delay_ms])).toEqual([
      [1, 0],
      [2, 2_000],
      [3, 4_000],
    ])
  })

  test('[5.1-6] logs on which attempt a connection succeeded', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-mcp-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const { connected, said } = await withMcpServers({ home: household('fails-first', join(folder, 'started')) })
    await connected()
    expect(said()).toContain('MCP connection succeeded on attempt 2')
  })

  test('[5.1-7] logs reason, stderr and what to check after the last attempt', async () => {
    const lines = lost.said().slice(lost.said().indexOf('MCP connection failed after 3 attempts'))
    expect(lines).toEqual([
      'MCP connection failed after 3 attempts',
      expect.stringMatching(/^Reason: .+/),
      expect.stringMatching(/^MCP Server stderr: /),
      expect.stringMatching(/^Check: .+/),
      expect.stringMatching(/^Continuing with local tools only/),
    ])
  })

  test('[5.1-8] goes on with local tools after the last attempt', async () => {
    expect(lost.said()).toContain('Continuing with local tools only (echo)')
    expect(await lost.execute('echo')).toMatchObject({ success: true })
  })

  test('[5.1-9] tries again in the background after the last attempt', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-mcp-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const clock = new ManualClock()
    const script = `test -e ${folder}/ready && exec ${process.execPath} ${household().args[0]}; exit 1`
    const { said, execute } = await withMcpServers({ home: { command: 'sh', args: ['-c', script] } }, { clock })
    for (let step = 0; step < 20 && !said().includes('MCP connection failed after 3 attempts'); step++)
      await pass(clock, 1)
    await writeFile(join(folder, 'ready'), '')
    clock.advance(30_000)
    await vi.waitFor(() => expect(said()).toContain('MCP connection succeeded in the background'))
    expect(await execute('look')).toMatchObject({ result: 'dark' })
  })

  test('[5.1-10] does not delay other tools while it connects', async () => {
    const silent = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] }
    const { execute, registry, said } = await withMcpServers(
      { silent, home: household() },
      { registry: [mock('echo')] },
    )
    expect(await execute('echo')).toMatchObject({ success: true })
    expect(said()).not.toContain('MCP connection attempt 1 failed')
    await vi.waitFor(() => expect(registry.has('look')).toBe(true))
  })

  test('[5.1-11] reports a line on stdout that is not JSON-RPC', async () => {
    await home.execute('chatter')
    expect(JSON.stringify(home.log.at('warn'))).toContain('Lamp 3 is warm')
  })

  test('[5.1-12] handles the next message as usual after a line that is not JSON-RPC', async () => {
    expect(await home.execute('chatter')).toMatchObject({ result: 'done' })
    expect(await home.execute('look')).toMatchObject({ result: 'dark' })
  })

  test('[5.1-13] reconnects a server that dies', async () => {
    const { connected, execute, said } = await withMcpServers({ home: household() })
    await connected()
    await execute('die')
    await vi.waitFor(() => expect(said().filter((line) => line.includes('succeeded'))).toHaveLength(2), {
      timeout: 10_000,
    })
    expect(await execute('look')).toMatchObject({ result: 'dark' })
  })

  test('[5.1-14] fails calls cleanly while a server is away', async () => {
    const { connected, execute } = await withMcpServers({ home: household() })
    await connected()
    const lost = await execute('die')
    expect(lost).toMatchObject({ success: false, error_code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' })
    expect(lost).toMatchObject({ error: expect.stringContaining("tool 'die' is unavailable") })
  })

  test('[5.1-15] passes errors from the server on unchanged', async () => {
    expect(await home.execute('fail')).toMatchObject({ error_code: 'EXECUTION_ERROR', error: 'the lamp is broken' })
  })
})
