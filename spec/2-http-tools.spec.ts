import { describe, expect, test } from 'vitest'
import { api, httpTool, json, withHttpTools } from './fixtures/http-api.ts'
import { configured, mock } from './fixtures/tool-manager.ts'

const SECRET = 'hunter2-hunter2'

describe('HTTP tools', () => {
  test('[2.6-1] takes url, method, headers, params_mapping, response_path, timeout_ms and retry', async () => {
    const { url, received } = await api((response, _, times) => {
      if (times === 1) return json(response, {}, 503)
      if (times === 2) return json(response, { list: [{ temperature: 21 }] })
      if (times === 3) return json(response, { list: [] })
    })
    const implementation = {
      url: `${url}/weather`,
      headers: { 'x-client': 'yard' },
      params_mapping: { city: 'q' },
      response_path: '$.list[0].temperature',
      timeout_ms: 300,
    }
    const retry = { max_attempts: 2, backoff_ms: 1 }
    const { execute } = await withHttpTools([
      httpTool('weather', { ...implementation, retry }, ['city']),
      httpTool('once', implementation, ['city']),
    ])
    expect(await execute('weather', { city: 'Paris' })).toMatchObject({ success: true, result: 21 })
    expect(received).toMatchObject([
      { method: 'GET', path: '/weather', query: { q: 'Paris' }, headers: { 'x-client': 'yard' }, body: '' },
      { method: 'GET' },
    ])
    expect(await execute('weather', { city: 'Atlantis' })).toMatchObject({ success: true, result: null })
    expect(await execute('once', { city: 'Nowhere' })).toMatchObject({
      error_code: 'TIMEOUT',
      error: 'Tool execution timed out after 300ms',
    })
  })

  test('[2.6-2] turns a mock tool into an HTTP tool by configuration only', async () => {
    const { url } = await api((response) => json(response, { temperature: 21 }))
    const tool = mock('weather', { temperature: 21 })
    const before = await (await configured([tool])).execute('weather')
    const web = { ...tool, implementation: { type: 'http', url: `${url}/weather` } }
    const after = await (await withHttpTools([web])).execute('weather')
    expect(before.success && before.result).toEqual(after.success && after.result)
  })

  test('[2.6-3] sends a query for GET, a JSON body for POST, PUT and PATCH, and fills in path templates', async () => {
    const { url, received } = await api()
    const methods = ['GET', 'POST', 'PUT', 'PATCH']
    const { execute } = await withHttpTools(
      methods.map((method) => httpTool(method, { url: `${url}/users/{id}`, method }, ['id', 'name'])),
    )
    for (const method of methods) await execute(method, { id: 'a b', name: 'Ann' })
    expect(received[0]).toMatchObject({ method: 'GET', path: '/users/a%20b', query: { name: 'Ann' }, body: '' })
    for (const [index, method] of methods.slice(1).entries()) {
      const { headers, body, ...rest } = received[index + 1] ?? { headers: {}, body: '' }
      expect(rest).toEqual({ method, path: '/users/a%20b', query: {} })
      expect(headers['content-type']).toContain('application/json')
      expect(JSON.parse(body)).toEqual({ name: 'Ann' })
    }
  })

  test('[2.6-4] renames parameters in query, body and path', async () => {
    const { url, received } = await api()
    const params_mapping = { user: 'user_id', text: 'q' }
    const { execute } = await withHttpTools([
      httpTool('get', { url: `${url}/users/{user_id}`, params_mapping }, ['user', 'text']),
      httpTool('post', { url: `${url}/users/{user_id}`, method: 'POST', params_mapping }, ['user', 'text']),
    ])
    await execute('get', { user: '7', text: 'hi' })
    await execute('post', { user: '7', text: 'hi' })
    expect(received[0]).toMatchObject({ path: '/users/7', query: { q: 'hi' } })
    expect(received[1]).toMatchObject({ path: '/users/7', body: '{"q":"hi"}' })
  })

  test('[2.6-5] sends only mapped parameters in the query when there is a mapping', async () => {
    const { url, received } = await api()
    const { execute } = await withHttpTools([
      httpTool('mapped', { url, params_mapping: { city: 'q' } }, ['city', 'unit']),
      httpTool('all', { url }, ['city', 'unit']),
    ])
    for (const name of ['mapped', 'all']) await execute(name, { city: 'Paris', unit: 'c', unnamed: 'x' })
    expect(received.map(({ query }) => query)).toEqual([{ q: 'Paris' }, { city: 'Paris', unit: 'c' }])
  })

  test('[2.6-6] sends all parameters in a body', async () => {
    const { url, received } = await api()
    const tool = httpTool('post', { url, method: 'POST', params_mapping: { city: 'q' } }, ['city', 'unit'])
    await (await withHttpTools([tool])).execute('post', { city: 'Paris', unit: 'c', unnamed: 'x' })
    expect(JSON.parse(received[0]?.body ?? '')).toEqual({ q: 'Paris', unit: 'c' })
  })

  test('[2.6-7] sends a path parameter in the path only', async () => {
    const { url, received } = await api()
    const { execute } = await withHttpTools([
      httpTool('get', { url: `${url}/a/{id}` }, ['id']),
      httpTool('put', { url: `${url}/a/{id}`, method: 'PUT' }, ['id']),
    ])
    await execute('get', { id: 'b/c?x=1' })
    await execute('put', { id: '7' })
    expect(received[0]).toMatchObject({ path: '/a/b%2Fc%3Fx%3D1', query: {} })
    expect(received[1]).toMatchObject({ path: '/a/7', query: {}, body: '' })
  })

  test('[2.6-8] replaces variables in headers, URL and query from the environment', async () => {
    const { url, received } = await api()
    const tool = httpTool('get', {
      url: '${BASE}/${VERSION}/things',
      headers: { 'x-key': '${KEY}' },
      query: { token: '${TOKEN}' },
    })
    const env = { BASE: url, VERSION: 'v2', KEY: 'key-1234', TOKEN: 'token-1234' }
    await (await withHttpTools([tool], env)).execute('get')
    expect(received).toMatchObject([
      { path: '/v2/things', headers: { 'x-key': 'key-1234' }, query: { token: 'token-1234' } },
    ])
    const { log, registry } = await withHttpTools([tool], { BASE: url, VERSION: 'v2', KEY: 'key-1234' })
    expect(registry.has('get')).toBe(false)
    expect(JSON.stringify(log.at('warn'))).toContain('TOKEN is not set')
  })

  test('[2.6-9] keeps secrets out of logs, audit records, errors and models', async () => {
    const { url } = await api((response, { path, headers, query }) =>
      json(response, { headers, query, again: Buffer.from(SECRET).toString('base64') }, path === '/no' ? 400 : 200),
    )
    const keyed = { headers: { authorization: 'Bearer ${KEY}' }, query: { key: '${KEY}' } }
    const tools = [httpTool('yes', { url: `${url}/yes`, ...keyed }), httpTool('no', { url: `${url}/no`, ...keyed })]
    const { execute, log, records } = await withHttpTools(tools, { KEY: SECRET })
    const answers = [await execute('yes'), await execute('no')]
    expect(answers).toMatchObject([{ success: true }, { error_code: 'EXECUTION_ERROR' }])
    const told = JSON.stringify([
      answers,
      log.lines,
      records().map(({ tool, params, code }) => ({ tool, params, code })),
    ])
    expect(told).toContain('[redacted]')
    expect(told).not.toContain(SECRET)
    expect(told).not.toContain(Buffer.from(SECRET).toString('base64').replace(/=+$/, ''))
  })

  test('[2.6-10] warns about a literal secret in a definition', async () => {
    const tool = httpTool('get', { url: 'https://api.example.com/', headers: { authorization: `Bearer ${SECRET}` } })
    const { log, registry } = await withHttpTools([tool])
    expect(registry.has('get')).toBe(true)
    expect(JSON.stringify(log.at('warn'))).toContain('authorization')
    expect(JSON.stringify(log.lines)).not.toContain(SECRET)
  })

  test('[2.6-11] sends Bearer tokens and API keys, in a header or in the query', async () => {
    const { url, received } = await api()
    const auths = [
      { type: 'bearer', token: '${KEY}' },
      { type: 'api_key', in: 'header', name: 'X-Api-Key', value: '${KEY}' },
      { type: 'api_key', in: 'query', name: 'api_key', value: '${KEY}' },
    ]
    const { execute } = await withHttpTools(
      auths.map((auth, index) => httpTool(`tool_${index}`, { url, auth }, ['q'])),
      { KEY: 'key 1234&x' },
    )
    for (const index of auths.keys()) await execute(`tool_${index}`, { q: 'a' })
    expect(received[0]).toMatchObject({ headers: { authorization: 'Bearer key 1234&x' }, query: { q: 'a' } })
    expect(received[1]).toMatchObject({ headers: { 'x-api-key': 'key 1234&x' }, query: { q: 'a' } })
    expect(received[2]).toMatchObject({ query: { q: 'a', api_key: 'key 1234&x' } })
  })

  test('[2.6-16] reaches only allowed domains, narrowed by the tool', async () => {
    const { url, received } = await api()
    const http = { allow_private: ['127.0.0.1/32'], allowed_domains: ['127.0.0.1', 'api.example.com'] }
    const { execute } = await withHttpTools(
      [
        httpTool('allowed', { url }),
        httpTool('narrowed', { url, allowed_domains: ['api.example.com'] }),
        httpTool('outside', { url: 'https://other.example.com/' }),
      ],
      {},
      http,
    )
    expect(await execute('allowed')).toMatchObject({ success: true })
    expect(await execute('narrowed')).toMatchObject({ error_code: 'EXECUTION_ERROR' })
    expect(await execute('outside')).toMatchObject({
      error_code: 'EXECUTION_ERROR',
      error: expect.stringContaining('other.example.com'),
    })
    expect(received).toHaveLength(1)
  })

  test('[2.6-17] reaches only the host of its own URL when no domains are set', async () => {
    const { url, received } = await api((response, { path }) => {
      const location = path === '/away' ? 'http://other.example.com/' : '/home'
      if (path === '/home') json(response, 'home')
      else response.writeHead(302, { location }).end()
    })
    const { execute } = await withHttpTools([
      httpTool('stays', { url: `${url}/stay` }),
      httpTool('goes', { url: `${url}/away` }),
    ])
    expect(await execute('stays')).toMatchObject({ success: true, result: 'home' })
    expect(await execute('goes')).toMatchObject({
      error_code: 'EXECUTION_ERROR',
      error: expect.stringContaining('other.example.com'),
    })
    expect(received.map(({ path }) => path)).toEqual(['/stay', '/home', '/away'])
  })

  test('[2.6-18] refuses private, loopback, link-local and metadata addresses by default', async () => {
    const { url, received } = await api()
    const { port } = new URL(url)
    const hosts = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '[::1]',
      '[::ffff:127.0.0.1]',
      'localhost',
      '10.0.0.1',
      '169.254.169.254',
    ]
    const tools = hosts.map((host, index) => httpTool(`tool_${index}`, { url: `http://${host}:${port}/` }))
    const { execute } = await withHttpTools(tools, {}, {})
    for (const [index] of hosts.entries()) {
      expect(await execute(`tool_${index}`)).toMatchObject({ success: false, error_code: 'EXECUTION_ERROR' })
    }
    expect(received).toEqual([])
  })

  test('[2.6-20] logs requests and responses, redacted', async () => {
    const { url } = await api((response) => json(response, { ok: true }))
    const auth = { type: 'api_key', in: 'query', name: 'key', value: '${KEY}' }
    const tool = httpTool('get', { url: `${url}/things/{id}`, auth }, ['id'])
    const { execute, log } = await withHttpTools([tool], { KEY: SECRET })
    await execute('get', { id: '7' })
    expect(log.at('info')).toContainEqual(
      expect.objectContaining({ tool: 'get', method: 'GET', path: expect.stringContaining('/things/7'), status: 200 }),
    )
    expect(JSON.stringify(log.lines)).not.toContain(SECRET)
  })
})
