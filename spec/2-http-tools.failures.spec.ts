import { describe, expect, test } from 'vitest'
import { closedPort } from './fixtures/closed-port.ts'
import { api, httpTool, json, withHttpTools } from './fixtures/http-api.ts'
import { withServer } from './fixtures/server.ts'

const _SECRET = 'hunter2-hunter2'

describe('HTTP tools', () => {
  test('[2.6-12] retries on 5xx and network errors with a doubling backoff', async () => {
    const { url, received } = await api((response, _, times) => {
      if (times === 1) response.destroy()
      else json(response, { times }, times < 4 ? 502 : 200)
    })
    const retry = { max_attempts: 4, backoff_ms: 40 }
    const { execute, log, records } = await withHttpTools([httpTool('get', { url, retry })])
    expect(await execute('get')).toMatchObject({ success: true, result: { times: 4 } })
    expect(received).toHaveLength(4)
    expect(records()).toMatchObject([{ attempts: 4 }])
    const pauses = log.at('debug').flatMap(({ pause_ms }) => (typeof pause_ms === 'number' ? [pause_ms] : []))
    expect(pauses).toHaveLength(3)
    // Each pause is spread by a quarter to either side.
    for (const [index, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(Math.floor(40 * 2 ** index * 0.75))
      expect(pause).toBeLessThanOrEqual(Math.ceil(40 * 2 ** index * 1.25))
    }
  })

  test('[2.6-13] does not retry on 4xx, except 429 and 408 after Retry-After', async () => {
    const { url, received } = await api((response, { path }, times) => {
      if (path === '/429' && times > 1) json(response, 'there')
      else json(response, { problem: 'no' }, Number(path.slice(1)), { 'retry-after': '1' })
    })
    const retry = { max_attempts: 2, backoff_ms: 1 }
    const statuses = [429, 404, 408, 400]
    const { execute } = await withHttpTools(
      statuses.map((status) => httpTool(`get_${status}`, { url: `${url}/${status}`, retry })),
    )
    const began = Date.now()
    expect(await execute('get_429')).toMatchObject({ success: true, result: 'there' })
    expect(Date.now() - began).toBeGreaterThanOrEqual(990)
    expect(await execute('get_404')).toMatchObject({
      error_code: 'EXECUTION_ERROR',
      error: expect.stringContaining('404'),
    })
    expect(await execute('get_400')).toMatchObject({ error_code: 'EXECUTION_ERROR' })
    await execute('get_408')
    const asked = (status: number) => received.filter(({ path }) => path === `/${status}`).length
    expect(statuses.map(asked)).toEqual([2, 1, 2, 1])
  })

  test('[2.6-14] repeats a write only if the request was never sent', async () => {
    const { url, received } = await api((response) => response.destroy())
    const port = await closedPort()
    const retry = { max_attempts: 3, backoff_ms: 1 }
    const { execute, records } = await withHttpTools([
      httpTool('left', { url, method: 'POST', retry }),
      httpTool('refused', { url: `http://127.0.0.1:${port}/`, method: 'POST', retry }),
    ])
    expect(await execute('left')).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' })
    expect(received).toHaveLength(1)
    const refused = await execute('refused')
    expect(refused).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
    expect(refused).not.toHaveProperty('outcome')
    expect(records().map(({ tool, attempts }) => [tool, attempts])).toEqual([
      ['left', 1],
      ['refused', 3],
    ])
  })

  test('[2.6-15] has a circuit breaker and a rate limit per tool', async () => {
    const { url, received } = await api((response, { path }) => json(response, {}, path === '/broken' ? 500 : 200))
    const { execute, ask, key } = await withServer(
      [
        httpTool('broken', { url: `${url}/broken`, circuit_breaker: { failures: 2, open_ms: 60_000 } }),
        httpTool('limited', { url }, [], { rate_limit: { calls: 2, per_ms: 60_000 } }),
      ],
      { http: { allow_private: ['127.0.0.1/32'] } },
    )
    const answers = []
    for (const name of ['broken', 'broken', 'broken', 'limited', 'limited', 'limited']) {
      answers.push((await execute(name)).body.error_code)
    }
    const down = 'SERVICE_UNAVAILABLE'
    expect(answers).toEqual([down, down, down, undefined, undefined, 'RATE_LIMITED'])
    expect(received.filter(({ path }) => path === '/broken')).toHaveLength(2)
    const { tools } = (await ask('/api/tools/list')).body
    expect(tools).toMatchObject([
      { name: 'broken', health: { circuit: { state: 'open', failures: 2 } } },
      { name: 'limited', health: { circuit: { state: 'closed' }, rate_limit: { calls: 2, remaining: 0 } } },
    ])
    expect(
      (await ask('/metrics?tenant=*', { key: await key('acme', 'admin', ['observe', 'installation']) })).text,
    ).toContain('toolyard_tool_circuit_open{tool="broken"} 1')
  })

  test('[2.6-19] bounds responses in size and time', async () => {
    const { url } = await api((response, { path }) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      if (path === '/large') response.end('x'.repeat(5_000))
      // Never whole.
      else response.write('x')
    })
    const { execute } = await withHttpTools([
      httpTool('large', { url: `${url}/large`, max_response_bytes: 4_000 }),
      httpTool('endless', { url: `${url}/endless`, timeout_ms: 200 }),
    ])
    expect(await execute('large')).toMatchObject({ error_code: 'RESULT_TOO_LARGE' })
    expect(await execute('endless')).toMatchObject({ error_code: 'TIMEOUT' })
  })
})
