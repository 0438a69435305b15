import { describe, expect, test, vi } from 'vitest'
import { openaiModel, tool, withServer } from './fixtures/server.ts'
import { mock, never } from './fixtures/tool-manager.ts'

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const weather = { ...mock('get_weather', { temperature: 22 }), parameters: city }

describe('Endpoints', () => {
  test('[6.1-1] POST /tools/execute runs a tool', async () => {
    const { execute, post } = await withServer([weather, tool('slow')], {}, { handlers: { slow: never } })
    const { status, body } = await execute('get_weather', { city: 'Paris' })
    expect([status, body]).toEqual([
      200,
      { success: true, result: { temperature: 22 }, tool_name: 'get_weather', execution_time_ms: expect.any(Number) },
    ])
    const late = await post('/tools/execute', { tool_name: 'slow', params: {}, timeout_ms: 1_000 })
    expect([late.status, late.body.error]).toEqual([504, 'Tool execution timed out after 1000ms'])
  })

  test('[6.1-2] POST /tools/execute maps every error code to a status, with the envelope', async () => {
    const gone = Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:80'), { code: 'ECONNREFUSED' })
    let cancelled = (): void => {}
    const hungUp = new Promise<void>((resolve) => {
      cancelled = resolve
    })
    const { execute, post, url, key, installation } = await withServer(
      [
        weather,
        tool('secret', { permissions: ['secrets'] }),
        tool('once', { rate_limit: { calls: 1, per_ms: 60_000 } }),
        tool('broken'),
        tool('large', { max_result_bytes: 10 }),
        tool('down'),
        tool('slow', { timeout_ms: 50 }),
        tool('long'),
      ],
      {},
      {
        handlers: {
          secret: () => 1,
          once: () => 1,
          broken: () => {
            throw new Error('It broke')
          },
          large: () => 'more than ten bytes',
          down: () => Promise.reject(gone),
          slow: never,
          long: (_, { signal }) => {
            signal.addEventListener('abort', cancelled)
            return never()
          },
        },
      },
    )
    await execute('once')
    const answers = [
      await post('/tools/execute', '{"tool_name": "get_weather", "params": {'),
      await post('/tools/execute', '[1]'),
      await execute('get_weather', {}),
      await execute('secret'),
      await execute('nowhere'),
      await execute('once'),
      await execute('broken'),
      await execute('large'),
      await execute('down'),
      await execute('slow'),
    ]
    expect(answers.map(({ status, body }) => [status, body.error_code])).toEqual([
      [400, 'INVALID_PARAMETERS'],
      [400, 'INVALID_PARAMETERS'],
      [400, 'INVALID_PARAMETERS'],
      [403, 'PERMISSION_DENIED'],
      [404, 'TOOL_NOT_FOUND'],
      [429, 'RATE_LIMITED'],
      [500, 'EXECUTION_ERROR'],
      [500, 'RESULT_TOO_LARGE'],
      [503, 'SERVICE_UNAVAILABLE'],
      [504, 'TIMEOUT'],
    ])
    for (const { body } of answers) {
      expect(body).toMatchObject({ success: false, error: expect.any(String), tool_name: expect.any(String) })
      expect(body.execution_time_ms).toEqual(expect.any(Number))
      expect(JSON.stringify(body)).not.toMatch(/10\.1\.2\.3|node:internal|\.ts:/)
    }

    // 499 is for the caller that has gone: it is seen in the audit.
    const caller = new AbortController()
    const call = fetch(`${url}/tools/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${await key('gone')}` },
      body: JSON.stringify({ tool_name: 'long', params: {} }),
      signal: caller.signal,
    })
    setTimeout(() => caller.abort(), 200)
    await expect(call).rejects.toThrow()
    await hungUp
    await vi.waitFor(async () => {
      installation.manager.getExecutor().flush()
      await installation.sink.flush()
      const { rows } = await installation.storage.ledger.audit({ tenant: 'gone', limit: 10 })
      expect(rows.map(({ tool, error_code }) => [tool, error_code])).toEqual([['long', 'CANCELLED']])
    })
  })

  test('[6.1-3] POST /tools/execute answers 401 without a valid key', async () => {
    const { execute } = await withServer([weather])
    for (const key of [null, 'ty_wrong']) {
      const { status, headers, body } = await execute('get_weather', { city: 'Paris' }, { key: key as string })
      expect([status, typeof body.error, headers.get('www-authenticate')]).toEqual([
        401,
        'string',
        expect.stringContaining('Bearer'),
      ])
    }
  })

  test('[6.1-4] GET /schema/tools lists names, descriptions, types and parameters', async () => {
    const { ask } = await withServer([weather])
    expect((await ask('/schema/tools')).body).toEqual({
      tools: [{ name: 'get_weather', description: 'The tool get_weather', type: 'function', parameters: city }],
    })
  })

  test('[6.1-5] GET /metrics/tools/execution answers totals, rates, times and errors, per tool too', async () => {
    const { ask, execute } = await withServer([weather])
    for (const params of [{ city: 'Paris' }, { city: 'Rome' }, { city: 'Oslo' }, {}])
      await execute('get_weather', params)
    const figures = {
      total: 4,
      success_rate: 0.75,
      avg_ms: expect.any(Number),
      p50_ms: expect.any(Number),
      p95_ms: expect.any(Number),
      p99_ms: expect.any(Number),
      errors: { INVALID_PARAMETERS: 1 },
    }
    const { body } = await ask('/metrics/tools/execution?window=1h')
    expect(body).toEqual({ window: '1h', ...figures, tools: { get_weather: figures } })
    expect(body.p50_ms).toBeLessThanOrEqual(body.p95_ms)
    expect(body.p95_ms).toBeLessThanOrEqual(body.p99_ms)
  })

  test('[6.1-6] GET /metrics/tools/execution takes 24h without a window', async () => {
    const { ask, execute } = await withServer([weather])
    await execute('get_weather', { city: 'Paris' })
    const windows = ['', '?window=1h', '?window=24h', '?window=7d']
    const answers = await Promise.all(windows.map((query) => ask(`/metrics/tools/execution${query}`)))
    expect(answers.map(({ body }) => [body.window, body.total])).toEqual([
      ['24h', 1],
      ['1h', 1],
      ['24h', 1],
      ['7d', 1],
    ])
  })

  test('[6.1-7] GET /metrics/tools/execution answers 400 for another window', async () => {
    const { ask } = await withServer([])
    const { status, type, body } = await ask('/metrics/tools/execution?window=2h')
    expect([status, type]).toEqual([400, expect.stringContaining('application/problem+json')])
    expect(body.error).toMatch(/2h|1h.*24h.*7d/)
  })

  test('[6.1-12] GET /api/tools/list lists tools with their kind', async () => {
    const { ask } = await withServer([weather])
    expect((await ask('/api/tools/list')).body).toEqual({
      tools: [
        {
          name: 'get_weather',
          description: 'The tool get_weather',
          parameters: city,
          implementation: { type: 'mock' },
        },
      ],
    })
  })

  test('[6.1-13] GET /api/models/list lists models', async () => {
    const { config } = await openaiModel()
    const { ask } = await withServer([], config)
    const { models } = (await ask('/api/models/list')).body
    const listed = models.find(({ id }: { id: string }) => id === 'openai:gpt-4o')
    expect(Object.keys(listed).sort()).toEqual(['capabilities', 'id', 'name', 'validation'])
    expect(listed).toMatchObject({ name: 'GPT-4o' })
  })

  test('[6.1-14] GET /api/models/list says which models take tools', async () => {
    const { config } = await openaiModel()
    const plain = { id: 'openai:plain', name: 'Plain', capabilities: [] }
    const { ask } = await withServer([], { ...config, models: [...config.models, plain] })
    const { models } = (await ask('/api/models/list')).body as { models: { id: string; capabilities: string[] }[] }
    const takes = (id: string) => models.find((one) => one.id === id)?.capabilities.includes('function-calling')
    expect([takes('openai:gpt-4o'), takes('openai:plain')]).toEqual([true, false])
  })

  test('[6.1-15] GET /api/models/list shows the validation record', async () => {
    const { config } = await openaiModel()
    const { ask, post } = await withServer([], config)
    const listed = async () => {
      const { models } = (await ask('/api/models/list')).body
      return models.find(({ id }: { id: string }) => id === 'openai:gpt-4o').validation
    }
    expect(await listed()).toMatchObject({ model_id: 'openai:gpt-4o', tested: false, validated: false, test_count: 0 })
    const { body } = await post('/api/tools/validate', { model: 'openai:gpt-4o', success: true, details: 'Called it' })
    expect(await listed()).toEqual(body)
  })

  test('[6.1-19] POST /api/tools/validate records one test and answers with the record', async () => {
    const { config } = await openaiModel()
    const { post } = await withServer([], config)
    await post('/api/tools/validate', { model: 'openai:gpt-4o', success: true })
    const { status, body } = await post('/api/tools/validate', {
      model: 'openai:gpt-4o',
      success: false,
      error: 'No call',
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      model_id: 'openai:gpt-4o',
      tested: true,
      validated: false,
      test_count: 2,
      success_count: 1,
    })
    expect(body.test_history).toMatchObject([{ success: true }, { success: false, error: 'No call' }])
  })

  test('[6.1-20] POST /api/tools/validate answers 400 without model or success', async () => {
    const { post } = await withServer([])
    for (const body of [{}, { model: 'mini:v1' }, { success: true }]) {
      const { status, body: problem } = await post('/api/tools/validate', body)
      expect([status, typeof problem.error]).toEqual([400, 'string'])
    }
  })

  test('[6.1-21] shows no handler, mock response, URL, header or secret', async () => {
    const { config } = await openaiModel()
    const hidden = { ...tool('people'), implementation: { type: 'builtin', handler: 'string' } }
    const mcpServers = { far: { url: 'http://127.0.0.1:9/hidden-path', headers: { 'x-hidden': 'hidden-header' } } }
    const { ask } = await withServer([mock('get_weather', 'hidden-response'), hidden], { ...config, mcpServers })
    const paths = [
      '/schema/tools',
      '/api/tools/list',
      '/api/models/list',
      '/v1/models',
      '/ready',
      '/health',
      '/openapi.json',
      '/metrics',
    ]
    for (const path of paths) {
      const { status, text } = await ask(path)
      expect([path, status < 400 || path === '/ready']).toEqual([path, true])
      expect(text).not.toMatch(/hidden|"handler"|sk-test|127\.0\.0\.1:9/)
    }
  })

  test('[6.1-22] answers errors as problem+json with error, except on /tools/execute', async () => {
    const { ask, post } = await withServer([])
    const answers = [
      await ask('/nowhere'),
      await ask('/chat'),
      await ask('/api/tools/list', { key: null as never }),
      await post('/chat', '{'),
      await post('/chat', {}),
      await post('/api/tools/validate', '"text"'),
      await ask('/audit?limit=none'),
      await ask('/api/runs/unknown'),
      await ask('/api/jobs/unknown'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 405, 401, 400, 400, 400, 400, 404, 404])
    for (const { type, status, body } of answers) {
      expect(type).toContain('application/problem+json')
      expect(body).toMatchObject({ title: expect.any(String), status, error: expect.stringMatching(/\w/) })
    }
  })
})
