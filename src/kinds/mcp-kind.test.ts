import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { later } from '../core/fixtures/code-yard.ts'
import { ManualClock } from '../testing/stand-ins.ts'
import { hostile, mcpYard } from './fixtures/mcp-yard.ts'

const text = (result: { success: boolean }) => (result.success ? (result as { result?: unknown }).result : result)

describe('tools of an MCP server', () => {
  test('join the registry and are called through the executor', async () => {
    const { mcp, call, names } = mcpYard({ hostile: hostile() })
    await mcp.start()
    expect(names()).toContain('echo')
    expect(await call('echo', { text: 'hello' })).toMatchObject({ success: true, result: 'hello' })
  })

  test('a server killed between calls: the next call works', async () => {
    const { mcp, call, log } = mcpYard({ hostile: hostile() })
    await mcp.start()
    await call('echo', { text: '1' })
    await call('answer-and-die')
    await vi.waitFor(() =>
      expect(log.lines).toContainEqual(expect.objectContaining({ message: 'MCP connection lost' })),
    )
    expect(text(await call('echo', { text: '2' }))).toBe('2')
  })

  test('a server that exits after every connection is not restarted over and over, but with the next call', async () => {
    const { mcp, call, log } = mcpYard({ hostile: hostile() })
    const losses = () => log.lines.filter(({ message }) => message === 'MCP connection lost').length
    await mcp.start()
    for (let died = 1; died <= 3; died++) {
      await call('answer-and-die')
      await vi.waitFor(() => expect(losses()).toBe(died))
    }
    await vi.waitFor(() =>
      expect(mcp.connection('hostile').standing()).toMatchObject({
        state: 'not_reachable',
        nextAttemptInMs: expect.any(Number),
      }),
    )
    expect(text(await call('echo', { text: '2' }))).toBe('2')
  })

  test('killed during a call: the call fails cleanly, and the next works', async () => {
    const { mcp, call } = mcpYard({ hostile: hostile() })
    await mcp.start()
    const lost = await call('kill-self')
    expect(lost).toMatchObject({ success: false, error_code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' })
    expect(text(await call('echo', { text: '2' }))).toBe('2')
  })

  test('a server that hangs: the deadline, and the connection stays usable for others', async () => {
    const { mcp, call } = mcpYard({ hostile: hostile() })
    await mcp.start()
    const hanging = call('hang', {}, { timeoutMs: 1_000 })
    expect(text(await call('echo', { text: 'beside' }))).toBe('beside')
    expect(await hanging).toMatchObject({ error_code: 'TIMEOUT', error: 'Tool execution timed out after 1000ms' })
    expect(text(await call('echo', { text: 'after' }))).toBe('after')
  })

  test('noise, half a line, bad bytes, unknown and doubled replies are survived', async () => {
    const { mcp, call, log } = mcpYard({ hostile: hostile() })
    await mcp.start()
    for (const tool of ['noise', 'half', 'odd-lines', 'unknown-id', 'twice', 'bad-bytes']) {
      expect((await call(tool)).success).toBe(true)
    }
    expect(JSON.stringify(log.lines)).toContain('Listening…')
  })

  test('an answer that is too long: RESULT_TOO_LARGE at once, and the connection stays', async () => {
    const { mcp, call } = mcpYard({ hostile: hostile() })
    await mcp.start()
    expect(await call('huge', { megabytes: 20 })).toMatchObject({ error_code: 'RESULT_TOO_LARGE' })
    expect(text(await call('echo', { text: 'after' }))).toBe('after')
  })

  test('errors from the server reach the caller unchanged', async () => {
    const { mcp, call, registry } = mcpYard({ hostile: hostile() })
    await mcp.start()
    const [echo] = registry.definitions().filter(({ name }) => name === 'echo')
    registry.register({
      ...(echo as NonNullable<typeof echo>),
      name: 'gone',
      implementation: { type: 'mcp', server: 'hostile', tool: 'gone' },
    })
    expect(await call('gone')).toMatchObject({ error_code: 'EXECUTION_ERROR', error: 'no tools/call' })
  })

  test.each([['silent'], ['quits'], ['bom']])('a server that is %s is connected all the same', async (flag) => {
    const { mcp, call } = mcpYard({ hostile: hostile(flag) })
    await mcp.start()
    expect(text(await call('echo', { text: flag }))).toBe(flag)
  })
})

test('a server over HTTP that refuses connections: the reason, and no line for stderr', async () => {
  const [server, clock] = [createServer(), new ManualClock()]
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  const reach = { type: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: {}, fetch } as const
  const { mcp, log } = mcpYard({ lost: reach }, { clock })
  const said = () => log.lines.map(({ message }) => message)
  const started = mcp.start()
  for (const pause of [2_000, 4_000]) {
    await vi.waitFor(() => expect(mcp.connection('lost').standing().nextAttemptInMs).toBe(pause))
    clock.advance(pause)
  }
  await started
  expect(said()).toContain('Reason: the connection was refused (ECONNREFUSED)')
  expect(said().filter((message) => message.includes('stderr'))).toEqual([])
  expect(mcp.connection('lost').standing().problem?.text).toBe('the connection was refused (ECONNREFUSED)')
})

describe('noise on stdout during a call', () => {
  test('is logged with the tool that is called, and recorded between its request and its answer', async () => {
    const { mcp, call, log } = mcpYard({ hostile: hostile() })
    await mcp.start()
    expect(await call('noise')).toMatchObject({ success: true })
    const logged = log.at('warn').filter(({ text }) => text !== undefined)
    expect(logged).toHaveLength(5)
    expect(logged[0]).toMatchObject({ server: 'hostile', calls: ['noise'], text: 'Listening…' })
    const messages = mcp.connection('hostile').traffic?.messages ?? []
    const asked = messages.findLastIndex(({ kind, content }) => kind === 'request' && content.includes('"noise"'))
    expect(messages.slice(asked).map(({ kind, content }) => (kind === 'noise' ? content : kind))).toEqual([
      'request',
      '"Listening…"',
      JSON.stringify('red {"a":1}'),
      JSON.stringify('{"level":"info"}'),
      '"{broken"',
      '"[]"',
      'response',
    ])
  })
})

describe('names of parameters', () => {
  test('are logged when they change, bounded and without secrets', async () => {
    const { mcp, call, log } = mcpYard({ hostile: hostile() })
    await mcp.start()
    await call('echo', { my_text: 'secret value', 'Bearer abcdefghijk_x': 1, ['long_name'.repeat(1_000)]: 2 })
    const [line = { message: '' }] = log.lines.filter(({ message }) => message.includes('→'))
    expect(line).toMatchObject({ level: 'info', fields: { tool: 'echo' } })
    expect(line.message).toContain('{my_text: …, [redacted]')
    expect(line.message).not.toContain('secret value')
    expect(line.message.length).toBeLessThan(2_200)
  })
})

describe('the timeout of a server', () => {
  const hangs = { type: 'mcp', server: 'slow', tool: 'hang' }
  const timedOut = (ms: number) => ({ error_code: 'TIMEOUT', error: `Tool execution timed out after ${ms}ms` })

  test('holds for its tools, listed or defined by hand, and not for those of other servers', async () => {
    const { mcp, registry, call, executor } = mcpYard({ slow: { reach: hostile(), timeoutMs: 51 }, other: hostile() })
    const definition = { description: 'Hangs.', parameters: { type: 'object' }, implementation: hangs }
    registry.register({ name: 'by_hand', ...definition })
    registry.register({ name: 'own_timeout', ...definition, timeout_ms: 52 })
    await mcp.start()
    expect(await call('hang')).toMatchObject(timedOut(51))
    expect(await call('by_hand')).toMatchObject(timedOut(51))
    expect(await call('own_timeout')).toMatchObject(timedOut(52))
    expect(await executor.admit('other__hang', {}, {})).toMatchObject({ timeoutMs: 30_000 })
  })

  test('does not change what a single call asks for', async () => {
    const { mcp, executor } = mcpYard({ slow: { reach: hostile(), timeoutMs: 300_000 } })
    await mcp.start()
    const admitted = (timeoutMs?: number) => executor.admit('hang', {}, timeoutMs === undefined ? {} : { timeoutMs })
    expect(await admitted()).toMatchObject({ timeoutMs: 300_000 })
    expect(await admitted(2_000)).toMatchObject({ timeoutMs: 2_000 })
    expect(await admitted(90_000)).toMatchObject({ timeoutMs: 60_000 })
    expect(await admitted(1)).toMatchObject({ timeoutMs: 1_000 })
  })
})

describe('a server that cannot be reached', () => {
  test('retries after 0, 2 and 4 s, logs the failure, and continues without the server', async () => {
    const clock = new ManualClock()
    const missing = { type: 'stdio', command: 'no-such-server', args: [], env: {} } as const
    const { mcp, log, local, call } = mcpYard({ lost: missing }, { clock })
    local('echo')
    const started = mcp.start()
    for (let step = 0; step < 8; step++) {
      await later(20)
      clock.advance(1_000)
    }
    await started
    const said = log.lines.map(({ message }) => message)
    expect(
      log.lines.filter(({ message }) => /^MCP connection attempt \d of 3$/.test(message)).map(({ fields }) => fields),
    ).toEqual([
      { server: 'lost', attempt: 1, delay_ms: 0 },
      { server: 'lost', attempt: 2, delay_ms: 2_000 },
      { server: 'lost', attempt: 3, delay_ms: 4_000 },
    ])
    const failed = said.indexOf('MCP connection failed after 3 attempts')
    expect(said.slice(failed)).toEqual([
      'MCP connection failed after 3 attempts',
      expect.stringMatching(/^Reason: .*no-such-server/),
      'MCP Server stderr: ',
      expect.stringMatching(/^Check: .*no-such-server/),
      'Continuing with local tools only (echo)',
    ])
    expect(await call('echo')).toMatchObject({ result: 'local echo' })
  })
})

test('a server that cannot be reached names the other servers that can', async () => {
  const missing = { type: 'stdio', command: 'no-such-server', args: [], env: {} } as const
  const clock = new ManualClock()
  const { mcp, log, local, names } = mcpYard({ one: hostile(), lost: missing }, { clock })
  local('echo')
  const started = mcp.start()
  await vi.waitFor(() => expect(names()).toContain('noise'))
  await vi.waitFor(() => {
    clock.advance(1_000)
    const message = 'Continuing with local tools (echo) and those of other MCP servers: one'
    expect(log.lines.map((line) => line.message)).toContain(message)
  })
  await started
})

describe('names', () => {
  test('the bare name belongs to local tools, then to the server that stands first', async () => {
    const { mcp, names, local, registry, call } = mcpYard({ one: hostile(), two: hostile() })
    local('echo')
    await mcp.start()
    expect(registry.get('echo')?.implementation?.type).toBe('mock')
    expect(names()).toEqual(expect.arrayContaining(['one__echo', 'two__echo', 'noise', 'two__noise']))
    expect(registry.get('noise')?.implementation).toMatchObject({ server: 'one' })
    expect(text(await call('two__echo', { text: 'two' }))).toBe('two')
  })

  test('a local tool that comes later takes its name, and gives it back when it goes', async () => {
    const { mcp, registry, local } = mcpYard({ one: hostile() })
    await mcp.start()
    local('echo')
    await later(1)
    expect(registry.get('echo')?.implementation?.type).toBe('mock')
    expect(registry.get('one__echo')?.implementation).toMatchObject({ server: 'one', tool: 'echo' })
    registry.unregister('echo')
    await later(1)
    expect(registry.get('echo')?.implementation).toMatchObject({ server: 'one' })
    expect(registry.has('one__echo')).toBe(false)
  })
})
