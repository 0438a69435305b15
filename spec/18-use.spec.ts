import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type Config,
  type Message,
  type Model,
  openProvider,
  type ToolDefinition,
  ToolLoop,
  ToolManager,
} from 'toolyard'
import { scripted } from 'toolyard/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { spawnToolyard } from '../src/cli/fixtures/toolyard.ts'
import { image } from '../src/core/fixtures/media.ts'
import { selfSigned } from '../src/kinds/http/network/fixtures/self-signed.ts'
import { startServer } from '../src/mcp/stdio/start-server.ts'
import { openaiChatFrames } from '../src/models/fixtures/wire-frames.ts'
import { openToolServer } from '../src/server/fixtures/open-tool-server.ts'
import { captureLog } from '../src/testing/stand-ins.ts'
import { schemaHash } from '../src/validation/tool-use/tool-use.ts'
import { openPage } from '../test/browser/open-browser.ts'
import { startServer as startToolyard } from '../test/servers/start-server.ts'
import { FULL } from '../test/setup/full.ts'
import { runCommand } from './fixtures/command-line.ts'
import { household } from './fixtures/mcp-servers.ts'
import { openaiModel, tool, withServer } from './fixtures/server.ts'
import { withTools } from './fixtures/tool-manager.ts'

/** Opens a configuration on a machine without any variables but these. */
async function open(config: Config, env: Record<string, string> = {}) {
  const log = captureLog()
  const manager = new ToolManager(config, { log, env })
  onTestFinished(() => manager.close())
  return { manager, log, report: await manager.loadTools() }
}

/** The parent of a process; undefined if it has ended. */
function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1])
  } catch {
    return undefined
  }
}

describe('18.2 Use', () => {
  test('[18.2-1] U2 media in results reach models that take them, and others as a short text', async () => {
    const { registry, executor, log } = await withTools({ camera: { run: async () => ({ content: [image] }) } })
    const loop = new ToolLoop(registry, executor, { log })
    const seenBy = async (media: Pick<Model, 'accepts'>) => {
      const model = { ...scripted({ calls: [{ name: 'camera' }] }, 'A dot.'), ...media }
      await loop.answer({ model, messages: [{ role: 'user', content: 'What do you see?' }] })
      return model.requests[1]?.messages.at(-1)?.content
    }
    const text = await seenBy({})
    expect(JSON.parse(String(text))).toMatchObject({ result: { content: ['[image image/png, 67 bytes]'] } })
    const parts = await seenBy({ accepts: { types: ['image/png'] } })
    expect(parts).toEqual([{ type: 'text', text: expect.stringContaining('[image image/png, 67 bytes]') }, image])
    expect(JSON.stringify(log.lines)).not.toContain(image.data)
    // The page: test/browser/tools.test.ts. The requests to each provider: src/models/providers/hosted.media.test.ts.
  })
  test('[18.2-2] U4 well-formed and right calls are told apart, and 10 judged cases make the badge green', async () => {
    const { config } = await openaiModel({ call: 'look', args: {} }, 'Done.')
    const look = { type: 'mock', mock_response: 1 }
    const server = await withServer([tool('look', { implementation: look })], config, { local: true })
    const { url, post, installation } = server
    await post('/api/tools/test', { model: 'openai:gpt-4o', query: 'Look.' })
    const definition = installation.manager.getRegistry().definitions()[0] as ToolDefinition
    const judge = (times: number) => {
      for (let n = 0; n < times; n++) {
        const use = { tenant: 'local', model: 'openai:gpt-4o', tool: 'look', schemaHash: schemaHash(definition) }
        installation.toolUse.record({ ...use, source: 'suite', outcome: { passed: true } })
      }
    }
    const { page } = await openPage()
    const cell = page.getByRole('region', { name: 'Model × tool' }).getByRole('cell')
    judge(9)
    await page.goto(`${url}/models`)
    await cell.getByText('9 cases').waitFor()
    expect(await cell.textContent()).toBe('Right 100 % of 9 cases, at least 70 %Well-formed 100 % of 1 call')
    judge(1)
    await page.reload()
    await cell.getByText('10 cases').waitFor()
    expect(await cell.textContent()).toMatch(/^✓ Right 100 % of 10 cases, at least 72.2 %Well-formed 100 % of 1 call$/)
  })
  test('[18.2-3] U8 creating the first key keeps the browser signed in with the same rights', async () => {
    const { url, ask, post } = await withServer([], {}, { local: true })
    const headers = { origin: url }
    const { scopes } = (await ask('/api/session')).body
    for (const less of [
      {},
      { role: 'operator' },
      { role: 'admin', scopes: ['manage'] },
      { role: 'admin', tools: ['a'] },
    ]) {
      const { status, body } = await post('/api/keys', { name: 'less', ...less }, { headers })
      expect([status, body.error]).toEqual([400, expect.stringMatching(/^The first key must be an admin key/)])
    }
    expect((await ask('/api/session')).body.state).toBe('local')
    const made = await post('/api/keys', { name: 'first', role: 'admin' }, { headers })
    const cookie = String(made.headers.get('set-cookie')).split(';', 1)[0] as string
    expect((await ask('/api/session')).body.state).toBe('signed_out')
    const session = (await ask('/api/session', { headers: { cookie } })).body
    expect(session).toMatchObject({ state: 'signed_in', name: 'first', role: 'admin', tenant: 'local', scopes })
    expect((await post('/api/keys', { name: 'less' }, { headers: { ...headers, cookie } })).status).toBe(201)
  })
  test('[18.2-4] U9 chat and tools wait for MCP servers, and name those that are missing', async () => {
    const mcpServers = { home: household(), gone: { command: '/no/such/program' } }
    const config = { tools: { enabled: true }, mcpServers }
    const tools = await runCommand(config, 'tools')
    expect(tools.stdout).toContain('control_zwave_device')
    expect(tools.stderr).toContain("MCP server 'gone' is not available")
    const chat = await runCommand(config, 'chat', 'hello', '--json')
    expect(JSON.parse(chat.stdout).missing_servers).toMatchObject([{ name: 'gone' }])
  })
  test('[18.2-5] U11 an unknown address in a browser gets a page with a way back', async () => {
    const { ask, url } = await withServer([], {}, { local: true })
    for (const path of ['/nowhere', '/tool/a/b', '/api/nowhere', '/assets/nothing.js']) {
      const { status, type, body } = await ask(path)
      expect([status, type, body.status]).toEqual([404, expect.stringContaining('problem+json'), 404])
      const html = await ask(path, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
      expect([html.status, html.type]).toEqual([404, 'text/html; charset=utf-8'])
      expect(html.headers.get('content-security-policy')).toContain("default-src 'none'")
    }
    const { page } = await openPage({ mayComplain: /404/ })
    await page.goto(`${url}/nowhere`)
    await page.getByText('Page not found').waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Tools' }).click()
    await page.getByRole('heading', { name: 'Tools' }).waitFor()
  })
  test('[18.2-7] U13 U15 models of an unavailable provider say so and cannot be chosen', async () => {
    const responses = [{ llm: 'openai', model: 'gpt-4o', prompt: 'Be kind.' }]
    const { ask, log, url } = await withServer([], { responses }, { local: true })
    for (const path of ['/api/models/list', '/v1/models']) {
      const { models, data } = (await ask(path)).body
      expect(models ?? data).toMatchObject([
        { available: false, reason: expect.stringContaining('OPENAI_API_KEY is not set. Set it') },
        { id: 'mini:v1' },
      ])
      expect((models ?? data)[1]).not.toHaveProperty('available')
    }
    expect(log.lines.filter(({ message }) => message === 'Provider disabled')).toHaveLength(1)
    const { page } = await openPage()
    await page.goto(`${url}/tools-testing`)
    await page.getByRole('combobox', { name: /Select Model/ }).click()
    const option = page.getByRole('option', { name: /OPENAI_API_KEY is not set/ })
    expect(await option.getAttribute('aria-disabled')).toBe('true')
    // The other one is chosen, because no other can be.
    expect(await page.getByRole('option', { selected: true }).textContent()).toContain('mini:v1')
  })
  test('[18.2-8] U16 every operation has an operationId', async () => {
    const { get } = await openToolServer({})
    const { paths } = (await (await get('/openapi.json')).json()) as {
      paths: Record<string, Record<string, { operationId?: string }>>
    }
    const ids = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId))
    expect(ids.length).toBeGreaterThan(50)
    expect(ids.every((id) => /^[a-z][A-Za-z0-9]+$/.test(id ?? ''))).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
    expect(paths['/tools/execute']?.post?.operationId).toBe('postToolsExecute')
  })
  test('[18.2-9] missing and misspelled parameters are explained', async () => {
    const properties = { article: { type: 'string' } }
    const { execute } = await withTools({
      free: { run: async () => 'ran' },
      read: { run: async () => 'ran', parameters: { type: 'object', properties, required: ['article'] } },
    })
    expect(await execute('free', undefined as never)).toMatchObject({ result: 'ran' })
    expect(await execute('read', { artcle: 'x' })).toMatchObject({
      error: `Invalid parameters: missing 'article'. Did you mean "article" instead of "artcle"?`,
    })
    const { call, post } = await openToolServer({ free: async () => 'ran' })
    expect(await (await post('/tools/execute', { tool_name: 'free' })).json()).toMatchObject({ result: 'ran' })
    const wrong = await post('/tools/execute', { tool_name: 'free', parameters: {} })
    expect(await wrong.json()).toMatchObject({
      error: "Invalid parameters: send the parameters as 'params', not as 'parameters'",
    })
    expect((await call('free')).status).toBe(200)
  })
  test('[18.2-10] a server starts the processes of calculate and mini before the first call', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-warm-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const config = fileURLToPath(new URL('../toolyard.config.json', import.meta.url))
    const server = await startToolyard({ TOOLYARD_CONFIG: config, TOOLYARD_DATA: folder }, folder)
    onTestFinished(() => void server.process.kill('SIGKILL'))
    const children = () => readdirSync('/proc').filter((pid) => parentOf(pid) === server.process.pid)
    await expect.poll(() => children().length).toBeGreaterThanOrEqual(2)
    const body = JSON.stringify({ tool_name: 'calculate', params: { expression: '2+2' } })
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    expect(await (await fetch(`${server.url}/tools/execute`, init)).json()).toMatchObject({ result: { result: 4 } })
    expect(await server.end()).toBe(0)
  })
  test('[18.2-11] proxies and certificates of the environment are used', async () => {
    const target = createServer((_request, response) => response.end('"through the proxy"')).listen(0, '127.0.0.1')
    const proxy = createServer().listen(0, '127.0.0.1')
    await Promise.all([once(target, 'listening'), once(proxy, 'listening')])
    onTestFinished(() => {
      for (const server of [target, proxy]) server.close().closeAllConnections()
    })
    const portOf = (server: Server) => (server.address() as AddressInfo).port
    proxy.on('connect', (_request, client) => {
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      const upstream = connect(portOf(target), '127.0.0.1')
      for (const end of [client, upstream]) end.on('error', () => {})
      upstream.pipe(client).pipe(upstream)
    })
    vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${portOf(proxy)}`)
    vi.stubEnv('SSL_CERT_FILE', '/etc/company.pem')
    onTestFinished(() => void vi.unstubAllEnvs())
    const implementation = { type: 'http', url: 'http://93.184.215.14/x' }
    const tool = { name: 'far', description: 'far', parameters: { type: 'object' }, implementation }
    const { manager } = await open({ tools: { enabled: true, registry: [tool] } })
    expect(await manager.getExecutor().execute('far', {})).toMatchObject({ success: true })
    const show = 'console.log(JSON.stringify(process.env))'
    const server = await startServer({ command: process.execPath, args: ['-e', show] })
    const env = JSON.parse(Buffer.concat(await Array.fromAsync(server.stdout ?? [])).toString())
    expect(env).toMatchObject({ HTTP_PROXY: process.env.HTTP_PROXY, SSL_CERT_FILE: '/etc/company.pem' })
  })
  test.runIf(FULL)(
    '[18.2-11] a provider behind a proxy, with a certificate of the company, answers the command line',
    async () => {
      const { cert, key } = selfSigned('models.example')
      const { start, text, finish } = openaiChatFrames
      const provider = createSecureServer({ cert, key }, (request, response) => {
        const answer = [...start, ...text('Hello.'), ...finish('stop')].join('')
        request.resume().on('end', () => response.setHeader('content-type', 'text/event-stream').end(answer))
      })
      const proxy = createServer()
      proxy.on('connect', (_request, client) => {
        client.write('HTTP/1.1 200 OK\r\n\r\n')
        provider.emit('connection', client)
      })
      await once(proxy.listen(0, '127.0.0.1'), 'listening')
      onTestFinished(() => void proxy.close().closeAllConnections())
      const folder = await mkdtemp(join(tmpdir(), 'toolyard-proxy-'))
      onTestFinished(() => rm(folder, { recursive: true, force: true }))
      await writeFile(join(folder, 'company.pem'), cert)
      const providers = { openai: { base_url: 'https://models.example/v1', api_key: '${KEY}' } }
      await writeFile(join(folder, 'toolyard.config.json'), JSON.stringify({ providers }))
      const env = {
        KEY: 'k',
        HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
        SSL_CERT_FILE: join(folder, 'company.pem'),
      }
      const { out, err } = await spawnToolyard(['chat', 'Hi', '--model', 'openai:m'], { env, cwd: folder })
      expect(out, err).toBe('Hello.\n')
    },
  )
  test('[18.2-12] storage copy moves everything between SQLite and PostgreSQL', async () => {
    const [{ startDatabases }, { installationFolder }] = await Promise.all([
      import('../test/postgres/databases.ts'),
      import('../src/cli/fixtures/installation-folder.ts'),
    ])
    const databases = await startDatabases()
    onTestFinished(() => databases.stop())
    const [url, { data, toolyard, serve }] = [
      await databases.create(),
      await installationFolder({ tools: { enabled: true } }),
    ]
    await toolyard('keys', 'create', '--tenant', 'acme', '--name', 'ci')
    await toolyard('tenants', 'set', 'acme', 'echo=false')
    const server = await serve()
    await server.manager.getExecutor().execute('echo', { text: 'hi' }, { tenant: 'acme', source: 'rest' })
    await server.storage.knowledge.open('acme', 'docs', null)
    await server.close()
    const verified = JSON.parse((await toolyard('audit', 'verify', '--json')).out)
    const back = join(data, '..', 'back')
    for (const words of [
      ['--to', url],
      ['--from', url, '--to', back],
    ]) {
      const { code, out } = await toolyard('storage', 'copy', ...words, '--json')
      expect(code, out).toBe(0)
      const { ok, tables, audit } = JSON.parse(out)
      expect({ ok, ...audit }).toEqual(verified)
      expect(tables).toMatchObject({ keys: 1, settings: 3, knowledge_collections: 1, audit: verified.rows })
    }
  })

  test('[18.2-13] U13 mini cuts no word of a description, counts passages and shows the best one', async () => {
    const description = `Get ${'something wonderful '.repeat(9)}and more.`
    const { registry } = await withTools({ find: { run: async () => 1, description } })
    const answer = async (messages: Message[]) => {
      const model = (await openProvider({ type: 'mini' })).model('v1')
      const events = await Array.fromAsync(model.stream({ messages, tools: registry.definitions() }))
      return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('')
    }
    const user: Message = { role: 'user', content: 'What can you do?' }
    expect(await answer([user])).toMatch(/^- find: Get (something wonderful )*something( wonderful)?…$/m)
    const call = { id: '1', type: 'function' as const, function: { name: 'find', arguments: '{"query":"calls"}' } }
    const results = [
      { text: '# Tools\n\n- [calculate](a.md)\n- [datetime](b.md), [echo](c.md)', source: 'tools.md' },
      { text: 'A call has one deadline: 30 s if nothing else is set.', source: 'life.md' },
    ]
    const content = JSON.stringify({ success: true, result: { results } })
    const called: Message = { role: 'assistant', content: null, tool_calls: [call] }
    expect(await answer([user, called, { role: 'tool', tool_call_id: '1', name: 'find', content }])).toBe(
      'About "calls" I found 2 passages, in tools.md, life.md. The best, from life.md: A call has one deadline: 30 s if nothing else is set.',
    )
  })
  test('[18.2-14] waiting times are written for people', async () => {
    const { execute } = await withTools({ daily: { run: async () => 1, rate_limit: { calls: 1, per_ms: 86_400_000 } } })
    await execute('daily', {})
    expect(await execute('daily', {})).toMatchObject({
      error: "Tool 'daily' allows 1 call per 24 h: try again in about 24 h",
    })
  })
})
