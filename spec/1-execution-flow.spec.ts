import { ManualClock } from 'toolyard/testing'
import { describe, expect, test, vi } from 'vitest'
import { closedPort } from './fixtures/closed-port.ts'
import { runCommand } from './fixtures/command-line.ts'
import { api, httpTool, json, withHttpTools } from './fixtures/http-api.ts'
import { household, withMcpServers } from './fixtures/mcp-servers.ts'
import { tool, withServer } from './fixtures/server.ts'
import { callsBeside, inProcess, mock, never, withTools } from './fixtures/tool-manager.ts'

const place = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

/** An error as Node's network functions throw it. */
const refused = () => Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:8080'), { code: 'ECONNREFUSED' })

describe('Execution flow', () => {
  test('[1.3-1] looks the tool up first', async () => {
    const { execute } = await withTools({})
    expect(await execute('nobody', 'no object')).toMatchObject({ error_code: 'TOOL_NOT_FOUND' })
  })

  test("[1.3-2] brings parameter names into the MCP server's form before validation", async () => {
    const { connected, execute } = await withMcpServers({ home: household() })
    await connected()
    // Before validation, or the server's schema would refuse the names that models write.
    const result = await execute('control_zwave_device', { device_name: 'lamp', command: 'on' })
    expect(result).toMatchObject({ result: '{"deviceName":"lamp","action":"on"}' })
  })

  test('[1.3-3] fills in defaults before validation', async () => {
    const properties = { units: { type: 'string', default: 'celsius' } }
    const parameters = { type: 'object', properties, required: ['units'] }
    const { execute } = await withTools({ weather: { run: ({ units }) => units, parameters } })
    // Filled before validation, or the required parameter would be missing.
    expect(await execute('weather')).toMatchObject({ result: 'celsius' })
  })

  test('[1.3-4] validates before it counts against limits', async () => {
    const { execute } = await withTools({
      weather: { run: () => 1, parameters: place, rate_limit: { calls: 1, per_ms: 60_000 } },
    })
    expect(await execute('weather')).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
    expect(await execute('weather', { city: 'Rome' })).toMatchObject({ success: true })
  })

  test('[1.3-5] checks permission before it reads the parameters', async () => {
    const { execute } = await withTools({ weather: { run: () => 1, parameters: place, permissions: ['weather'] } })
    for (const params of [{}, { city: 7 }, 'no object']) {
      const result = await execute('weather', params)
      expect(result).toMatchObject({ error_code: 'PERMISSION_DENIED' })
      expect(JSON.stringify(result)).not.toContain('city')
    }
    expect(await execute('weather', { city: 'Rome' }, { flags: { weather: true } })).toMatchObject({ success: true })
  })

  test('[1.3-6] checks limits before it tries the cache', async () => {
    const { execute } = await withTools({
      look: { run: () => 1, effect: 'read', cache: { ttl_ms: 60_000 }, rate_limit: { calls: 1, per_ms: 60_000 } },
    })
    expect(await execute('look')).toMatchObject({ success: true })
    expect(await execute('look')).toMatchObject({ error_code: 'RATE_LIMITED' })
  })

  test('[1.3-7] answers from the cache when tenant and parameters are the same', async () => {
    const clock = new ManualClock()
    let runs = 0
    const { execute } = await withTools(
      { look: { run: () => ++runs, effect: 'read', cache: { ttl_ms: 1_000 } } },
      { clock },
    )
    const caller = 'ada'
    expect(await execute('look', { a: 1, b: 2 }, { caller })).toMatchObject({ result: 1 })
    expect(await execute('look', { b: 2, a: 1 }, { caller })).toMatchObject({ result: 1 })
    expect(await execute('look', { a: 1, b: 2 }, { caller, tenant: 'other' })).toMatchObject({ result: 2 })
    clock.advance(1_001)
    expect(await execute('look', { a: 1, b: 2 }, { caller })).toMatchObject({ result: 3 })
  })

  test('[1.3-8] runs the tool under a deadline', async () => {
    const { execute } = await withTools({ stuck: { run: never, timeout_ms: 30 } })
    expect(await execute('stuck')).toMatchObject({ error_code: 'TIMEOUT' })
  })

  test('[1.3-9] records every call, refused ones included', async () => {
    const { execute, records } = await withTools({ weather: { run: () => 1, parameters: place } })
    await execute('weather', { city: 'Paris' }, { tenant: 'acme' })
    await execute('weather', {})
    await execute('nobody')
    expect(await records()).toMatchObject([
      { tool: 'weather', tenant: 'acme', code: undefined },
      { tool: 'weather', code: 'INVALID_PARAMETERS' },
      { tool: 'nobody', code: 'TOOL_NOT_FOUND' },
    ])
  })

  test('[1.3-10] returns the envelope', async () => {
    const { execute } = await withTools({ answer: { run: async () => ({ ok: true }) } })
    expect(await execute('answer')).toMatchObject({ success: true, result: { ok: true }, tool_name: 'answer' })
  })

  test('[1.3-11] warns and answers not found when the tool is unknown', async () => {
    const { execute, log } = await withTools({})
    expect(await execute('nobody')).toMatchObject({ error: "Tool 'nobody' not found", error_code: 'TOOL_NOT_FOUND' })
    expect(log.at('warn')).toContainEqual(expect.objectContaining({ tool: 'nobody' }))
  })

  test('[1.3-12] logs a tool that throws, with its context', async () => {
    const { execute, log } = await withTools({ fails: { run: () => Promise.reject(new Error('No such city')) } })
    await execute('fails', { city: 'Atlantis' }, { tenant: 'acme' })
    expect(JSON.stringify(log.lines)).toMatch(/fails.*Atlantis|Atlantis.*fails/)
    expect(JSON.stringify(log.lines)).toContain('No such city')
  })

  test('[1.3-13] returns the message of a tool that throws as error', async () => {
    const run = () => {
      throw new Error('No such city')
    }
    const { execute } = await withTools({ fails: { run } })
    expect(await execute('fails')).toMatchObject({ error: 'No such city', error_code: 'EXECUTION_ERROR' })
  })

  test('[1.3-14] gives SERVICE_UNAVAILABLE when the network fails', async () => {
    const port = await closedPort()
    const { execute } = await withTools({
      call: { run: () => fetch(`http://127.0.0.1:${port}/`) },
      lookup: { run: () => Promise.reject(Object.assign(new Error('dns'), { code: 'ENOTFOUND' })) },
    })
    expect(await execute('call')).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
    expect(await execute('lookup')).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
  })

  test('[1.3-15] names the tool and leaks no address, secret or stack when the network fails', async () => {
    const port = await closedPort()
    const { execute } = await withTools({ call: { run: () => fetch(`http://127.0.0.1:${port}/?key=hunter2`) } })
    const { error } = (await execute('call')) as { error: string }
    expect(error).toContain("'call'")
    expect(error).toContain('unavailable')
    expect(error).not.toMatch(new RegExp(`127\\.0\\.0\\.1|${port}|hunter2|\\bat .*:\\d+`))
  })

  test('[1.3-16] gives EXECUTION_ERROR with the status for a 4xx response', async () => {
    const { url } = await api((response) => json(response, { problem: 'no such user' }, 404))
    const { execute } = await withHttpTools([httpTool('user', { url })])
    expect(await execute('user')).toMatchObject({
      error_code: 'EXECUTION_ERROR',
      error: expect.stringMatching(/'user' answered 404.*no such user/),
    })
  })

  test('[1.3-17] names the deadline that applied when a tool times out', async () => {
    const { execute } = await withTools({ stuck: { run: never, timeout_ms: 40 } })
    expect(await execute('stuck')).toMatchObject({
      error: 'Tool execution timed out after 40ms',
      error_code: 'TIMEOUT',
    })
  })

  test('[1.3-18] aborts the signal of asynchronous work at the deadline', async () => {
    const aborted = Promise.withResolvers<void>()
    const { execute } = await withTools({
      polite: {
        run: (_, { signal }) => {
          signal.addEventListener('abort', () => aborted.resolve())
          return never()
        },
        timeout_ms: 40,
      },
    })
    await execute('polite')
    await aborted.promise
  })

  test('[1.3-19] ends the child process at the deadline', async () => {
    const pids: number[] = []
    const { execute } = await withTools({ spin: { run: inProcess('spin'), timeout_ms: 3_000 } })
    const report = (pid: unknown) => pids.push(pid as number)
    expect(await execute('spin', {}, { report })).toMatchObject({ error_code: 'TIMEOUT' })
    expect(pids).toHaveLength(1)
    await vi.waitFor(() => expect(() => process.kill(pids[0] as number, 0)).toThrow())
  })

  test('[1.3-20] keeps answering while a CPU-bound handler runs into its memory limit', async () => {
    const { execute } = await withTools({
      hoard: { run: inProcess('hoard'), timeout_ms: 15_000 },
      echo: { run: (params) => params },
    })
    const hoarding = execute('hoard')
    expect(await callsBeside(hoarding, () => execute('echo'))).toBeGreaterThan(3)
    expect(await hoarding).toMatchObject({ success: false, error_code: 'EXECUTION_ERROR' })
  })

  test('[1.3-21] takes the deadline from the default, the tool or the call, clamped to 1–60 s per call', async () => {
    const clock = new ManualClock()
    const { execute } = await withTools({ plain: { run: never }, own: { run: never, timeout_ms: 90_000 } }, { clock })
    const calls = [
      execute('plain'),
      execute('own'),
      execute('plain', {}, { timeoutMs: 5 }),
      execute('plain', {}, { timeoutMs: 2_000 }),
      execute('plain', {}, { timeoutMs: 120_000 }),
    ]
    clock.advance(91_000)
    const errors = (await Promise.all(calls)).map((result) => 'error' in result && result.error)
    expect(errors).toEqual([30_000, 90_000, 1_000, 2_000, 60_000].map((ms) => `Tool execution timed out after ${ms}ms`))
  })

  test('[1.3-22] says on stderr that the command line clamped a deadline', async () => {
    const config = { tools: { enabled: true, registry: [mock('hello', 'hi')] } }
    const clamped = await runCommand(config, 'exec', 'hello', '--timeout', '5')
    expect(clamped).toMatchObject({ stdout: 'hi\n', stderr: expect.stringMatching(/\b5\b.*\b1000\b/) })
    expect((await runCommand(config, 'exec', 'hello', '--timeout', '5000')).stderr).toBe('')
  })

  test('[1.3-23] starts a job and answers 202 for Prefer: respond-async', async () => {
    const work = Promise.withResolvers<string>()
    const { ask, post } = await withServer([tool('digest')], {}, { handlers: { digest: () => work.promise } })
    const body = { tool_name: 'digest', params: {}, timeout_ms: 600_000 }
    const accepted = await post('/tools/execute', body, { headers: { prefer: 'respond-async' } })
    const location = `/api/jobs/${accepted.body.id}`
    expect([accepted.status, accepted.headers.get('location')]).toEqual([202, location])
    // Ten minutes are more than a call that is waited for may have.
    expect((await ask(location)).body).toMatchObject({ timeout_ms: 600_000, result: null })
    work.resolve('digested')
    await vi.waitFor(async () => expect((await ask(location)).body.state).toBe('done'))
    expect((await ask(location)).body.result).toMatchObject({ success: true, result: 'digested', tool_name: 'digest' })
  })

  test('[1.3-24] counts waiting for a free process against the deadline', async () => {
    const { execute } = await withTools(
      { spin: { run: inProcess('spin'), timeout_ms: 15_000 }, add: { run: inProcess('add'), timeout_ms: 500 } },
      { processes: 1 },
    )
    const controller = new AbortController()
    const spinning = execute('spin', {}, { signal: controller.signal })
    expect(await execute('add', { a: 1, b: 2 })).toMatchObject({
      error: 'Tool execution timed out after 500ms while waiting for a free worker',
      error_code: 'TIMEOUT',
    })
    controller.abort()
    await spinning
  })

  test('[1.3-25] leaves a process free for other tenants', async () => {
    const { execute } = await withTools(
      { spin: { run: inProcess('spin'), timeout_ms: 15_000 }, add: { run: inProcess('add'), timeout_ms: 10_000 } },
      { processes: 2 },
    )
    const controller = new AbortController()
    const greedy = [1, 2, 3, 4].map(() => execute('spin', {}, { tenant: 'greedy', signal: controller.signal }))
    expect(await execute('add', { a: 1, b: 2 }, { tenant: 'modest' })).toMatchObject({ result: 3 })
    controller.abort()
    expect(await Promise.all(greedy)).toMatchObject(Array(4).fill({ error_code: 'CANCELLED' }))
  })

  test('[1.3-26] cancels the call when the caller aborts', async () => {
    const { execute } = await withTools({ stuck: { run: never } })
    const controller = new AbortController()
    const call = execute('stuck', {}, { signal: controller.signal })
    controller.abort()
    expect(await call).toMatchObject({ success: false, error_code: 'CANCELLED' })
    expect(await execute('stuck', {}, { signal: AbortSignal.abort() })).toMatchObject({ error_code: 'CANCELLED' })
  })

  test('[1.3-27] retries SERVICE_UNAVAILABLE of read and idempotent tools inside the deadline', async () => {
    const runs: Record<string, number> = {}
    const flaky = (name: string) => () => {
      runs[name] = (runs[name] ?? 0) + 1
      return runs[name] < 3 ? Promise.reject(refused()) : 'there'
    }
    const retry = { max_attempts: 3, backoff_ms: 1 }
    const { execute } = await withTools({
      look: { run: flaky('look'), effect: 'read', retry },
      put: { run: flaky('put'), effect: 'idempotent', retry },
      order: { run: flaky('order'), effect: 'write', retry },
      slow: {
        run: () => Promise.reject(refused()),
        effect: 'read',
        timeout_ms: 50,
        retry: { max_attempts: 9, backoff_ms: 60_000 },
      },
    })
    expect(await execute('look')).toMatchObject({ result: 'there' })
    expect(await execute('put')).toMatchObject({ result: 'there' })
    expect(await execute('order')).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
    expect(runs.order).toBe(1)
    expect(await execute('slow')).toMatchObject({ success: false })
  })
})
