import { readFile, writeFile } from 'node:fs/promises'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Client, type ClientOptions, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { serveAsking } from '../src/mcp/fixtures/asking-server.ts'
import { COMPILE_CACHE } from '../src/mcp/fixtures/compile-cache.ts'
import { POST_HEADERS, statelessMessage } from '../src/mcp/server/fixtures/http-yard.ts'
import { serveStdio } from '../src/mcp/server/serve-stdio.ts'
import { ToolServer } from '../src/mcp/server/tool-server.ts'
import { openTestServer, type TestServer } from '../src/server/fixtures/open-server.ts'

const ASKING = fileURLToPath(new URL('../src/mcp/fixtures/asking-server.ts', import.meta.url))
const PAGE = new URL('../docs/guides/mcp-gateway.md', import.meta.url)
const VERSIONS = ['2025-06-18', '2025-11-25', '2026-07-28'] as const
const NEWEST = '2026-07-28'
const TRANSPORTS = ['HTTP', 'stdio'] as const
const SERVERS = { older: '2025-11-25', newer: NEWEST } as const
const ALL = { logging: true, elicitation: true, sampling: true, roots: true }
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const ROOT = 'file:///home/ada'

let server: TestServer
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  const asking = await serveAsking()
  ends.push(() => asking.close())
  const older = { command: process.execPath, args: [ASKING], env: COMPILE_CACHE, forward: ALL }
  const newer = { url: asking.url, forward: ALL }
  const config = { tools: { enabled: true }, mcpServers: { older, newer } }
  server = await openTestServer(config, { local: true })
  const servers = server.installation.manager.getMcpServers()
  await servers.start()
  for (const [name, version] of Object.entries(SERVERS)) {
    const client = await servers.connection(name).client(AbortSignal.timeout(60_000))
    expect(client.getNegotiatedProtocolVersion()).toBe(version)
  }
})
afterAll(async () => {
  for (const end of ends.slice(1).reverse()) await end()
  await server.close()
  await ends[0]?.()
})

/** The same tools over standard input and output, of which this is the other end. */
function overStdio(): Transport {
  const { manager, clock } = server.installation
  const [input, output] = [new PassThrough(), new PassThrough()]
  const served = new ToolServer({
    registry: manager.getRegistry(),
    executor: manager.getExecutor(),
    version: '1',
    clock,
    library: manager.getMcpServers().library,
  })
  const service = serveStdio(served, { input, output })
  ends.push(async () => {
    await service.close()
    served.close()
  })
  return new StdioServerTransport(output, input)
}

async function connect(version: string, transport: string, options: ClientOptions = {}): Promise<Client> {
  const isNewest = version === NEWEST
  const client = new Client(
    { name: 'test', version: '1' },
    {
      ...options,
      versionNegotiation: { mode: isNewest ? 'auto' : 'legacy' },
      ...(!isNewest && { supportedProtocolVersions: [version] }),
    },
  )
  const url = new URL(`${server.url}/mcp`)
  await client.connect(transport === 'HTTP' ? new StreamableHTTPClientTransport(url) : overStdio())
  ends.push(() => client.close())
  expect(client.getNegotiatedProtocolVersion()).toBe(version)
  return client
}

interface Tried {
  /** Can be asked. */
  readonly client: Client
  /** Declares nothing, so its calls and subscriptions share a connection to the server. */
  readonly plain: Client
  readonly name: (tool: string) => string
  readonly uri: (uri: string) => string
  readonly own: string
}

const said = async ({ client, name }: Tried, tool: string) =>
  ((await client.callTool({ name: name(tool) })).content[0] as { text?: string }).text

/** What must hold for each feature. */
const FEATURES: Readonly<Record<string, (tried: Tried) => Promise<void>>> = {
  'tools, media in results': async ({ client, name, uri }) => {
    const { content } = await client.callTool({ name: name('media') })
    expect(content.map(({ type }) => type)).toEqual(['text', 'image', 'audio', 'resource_link', 'resource'])
    expect(content[3]).toMatchObject({ uri: uri('note://1') })
  },
  progress: async ({ plain, name }) => {
    const heard: unknown[] = []
    const onprogress = (one: unknown) => {
      heard.push(one)
      void plain.callTool({ name: name('go_on') })
    }
    await plain.callTool({ name: name('steps') }, { onprogress })
    expect(heard).toMatchObject([{ progress: 1, total: 2 }])
  },
  cancellation: async ({ plain, name }) => {
    const state = async () => {
      const [block] = (await plain.callTool({ name: name('cancelled') })).content
      return block?.type === 'text' ? block.text : ''
    }
    const count = Number((await state()).split(' ')[0])
    const cancel = new AbortController()
    const call = plain.callTool({ name: name('wait') }, { signal: cancel.signal }).catch(() => 'cancelled')
    await expect.poll(state).toBe(`${count + 1} began, ${count} cancelled`)
    cancel.abort()
    expect(await call).toBe('cancelled')
    await expect.poll(state).toBe(`${count + 1} began, ${count + 1} cancelled`)
  },
  'prompts, completions': async ({ client, name }) => {
    const { prompts } = await client.listPrompts()
    expect(prompts.map((one) => one.name)).toContain(name('greet'))
    const { messages } = await client.getPrompt({ name: name('greet'), arguments: { who: 'Ada' } })
    expect(messages[0]?.content).toMatchObject({ text: 'Greet Ada' })
    const ref = { type: 'ref/prompt', name: name('greet') } as const
    const { completion } = await client.complete({ ref, argument: { name: 'who', value: 'A' } })
    expect(completion.values).toEqual(['greet A'])
  },
  'resources, templates': async ({ client, uri, own }) => {
    expect((await client.listResources()).resources.map((one) => one.uri)).toContain(uri('note://1'))
    expect((await client.readResource({ uri: uri('note://1') })).contents).toMatchObject([
      { uri: uri('note://1'), text: `${own} note://1` },
    ])
    const { resourceTemplates } = await client.listResourceTemplates()
    const template = `${own}+note://{id}`
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(template)
    const { contents } = await client.readResource({ uri: template.replace('{id}', '7') })
    expect(contents).toMatchObject([{ text: `${own} note://7` }])
  },
  subscriptions: async ({ plain, name, uri }) => {
    const heard: string[] = []
    plain.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri))
    const isNewest = plain.getNegotiatedProtocolVersion() === NEWEST
    const listening = isNewest ? await plain.listen({ resourceSubscriptions: [uri('note://1')] }) : undefined
    if (!isNewest) await plain.subscribeResource({ uri: uri('note://1') })
    const touched = async () => {
      await plain.callTool({ name: name('touch') })
      return heard.length
    }
    await expect.poll(touched).toBeGreaterThan(0)
    expect(new Set(heard)).toEqual(new Set([uri('note://1')]))
    if (listening !== undefined) await listening.close()
    else await plain.unsubscribeResource({ uri: uri('note://1') })
  },
  'log messages': async ({ client, name }) => {
    const heard: unknown[] = []
    client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params))
    const isNewest = client.getNegotiatedProtocolVersion() === NEWEST
    if (!isNewest) await client.setLoggingLevel('info')
    const _meta = isNewest ? { 'io.modelcontextprotocol/logLevel': 'info' } : {}
    await client.callTool({ name: name('log'), _meta })
    await expect.poll(() => heard.length).toBeGreaterThan(0)
    expect(heard).toMatchObject([{ level: 'warning', data: 'Careful' }])
  },
  'elicitation by form': async (tried) => expect(await said(tried, 'ask')).toBe('accept Ada'),
  'elicitation by URL': async (tried) => {
    expect(await said(tried, 'open')).toBe('accept')
    expect(await tried.client.callTool({ name: tried.name('open_file') })).toMatchObject({ isError: true })
  },
  sampling: async (tried) => expect(await said(tried, 'sample')).toBe('ok'),
  roots: async (tried) => expect(await said(tried, 'roots')).toBe(ROOT),
}

const failures: string[] = []
const table: Record<string, string[]> = Object.fromEntries(Object.keys(FEATURES).map((feature) => [feature, []]))

for (const version of VERSIONS) {
  for (const transport of TRANSPORTS) {
    test(`a client of ${version} over ${transport} uses servers of both eras`, async () => {
      const plain = await connect(version, transport)
      const client = await connect(version, transport, { capabilities: CAPABILITIES })
      const asked: unknown[] = []
      client.setRequestHandler('elicitation/create', ({ params }) => {
        asked.push(params.message)
        return params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Ada' } }
      })
      client.setRequestHandler('sampling/createMessage', ({ params }) => {
        expect(params).not.toHaveProperty('includeContext')
        return { role: 'assistant', model: 'm', content: { type: 'text', text: 'ok' } }
      })
      client.setRequestHandler('roots/list', () => ({ roots: [{ uri: ROOT }] }))
      for (const own of Object.keys(SERVERS)) {
        const isFirst = own === 'older'
        const tried: Tried = {
          client,
          plain,
          own,
          name: (tool) => (isFirst ? tool : `newer__${tool}`),
          uri: (uri) => (isFirst ? uri : `newer+${uri}`),
        }
        for (const [feature, holds] of Object.entries(FEATURES)) {
          const works = await holds(tried).then(
            () => true,
            (error) => {
              failures.push(`${version} ${transport} ${own} ${feature}: ${error}`)
              return false
            },
          )
          table[feature]?.push(works ? 'yes' : 'no')
        }
      }
      expect(asked).toContain("MCP server 'newer' asks: Your name?")
      // Only addresses of the web are opened.
      expect(JSON.stringify(asked)).not.toContain('Open a file')
    })
  }
}

test('questions pass through two servers over HTTP', async () => {
  const config = { tools: { enabled: true }, mcpServers: { inner: { url: `${server.url}/mcp`, forward: ALL } } }
  const outer = await openTestServer(config, { local: true })
  onTestFinished(() => outer.close())
  await outer.installation.manager.getMcpServers().start()
  for (const mode of ['auto', 'legacy'] as const) {
    const client = new Client(
      { name: 'test', version: '1' },
      { capabilities: { elicitation: {} }, versionNegotiation: { mode } },
    )
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: mode } }))
    await client.connect(new StreamableHTTPClientTransport(new URL(`${outer.url}/mcp`)))
    expect((await client.callTool({ name: 'ask' })).content).toEqual([{ type: 'text', text: `accept ${mode}` }])
    await client.close()
  }
})

test('a question can be answered by the caller whose call caused it, once, with the same call', async () => {
  const [ada, bob, eve] = await Promise.all([server.key('acme'), server.key('acme'), server.key('globex')])
  const capabilities = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
  const call = async (key: string, params: object) => {
    const { message, headers } = statelessMessage('tools/call', { name: 'ask', arguments: {}, ...params }, capabilities)
    const init = {
      method: 'POST',
      headers: { ...POST_HEADERS, ...headers, 'x-api-key': key },
      body: JSON.stringify(message),
    }
    return (await fetch(`${server.url}/mcp`, init)).json() as Promise<{
      result?: Record<string, unknown>
      error?: unknown
    }>
  }
  const asked = (await call(ada, {})).result
  expect(asked).toMatchObject({
    resultType: 'input_required',
    inputRequests: { question: { method: 'elicitation/create' } },
  })
  const answered = {
    requestState: asked?.requestState,
    inputResponses: { question: { action: 'accept', content: { name: 'Ada' } } },
  }
  const refused = { error: { code: -32_602, message: expect.stringContaining('Nobody waits for this answer') } }
  expect(await call(bob, answered)).toMatchObject(refused)
  expect(await call(eve, answered)).toMatchObject(refused)
  expect(await call(ada, { ...answered, arguments: { other: 1 } })).toMatchObject(refused)
  expect((await call(ada, answered)).result).toMatchObject({ content: [{ text: 'accept Ada' }] })
  expect(await call(ada, answered)).toMatchObject(refused)

  // A call of a revoked key doesn't wait for its answer.
  const executor = server.installation.manager.getExecutor()
  expect((await call(eve, {})).result).toMatchObject({ resultType: 'input_required' })
  expect(executor.running).toBe(1)
  const { keys } = server.installation.storage
  for (const { id, tenant } of await keys.list())
    if (tenant === 'globex') await keys.revoke(id, new Date().toISOString())
  await server.installation.callers.load(keys)
  await expect.poll(() => executor.running).toBe(0)
})

test('the table of features in the guide is what the tests found', async () => {
  const columns = VERSIONS.flatMap((version) => TRANSPORTS.map((transport) => `${version} ${transport}`))
  const cells = (found: readonly string[]): string[] =>
    columns.map((_, index) => {
      const [older, newer] = found.slice(index * 2, index * 2 + 2)
      return older === newer ? String(older) : `${older} / ${newer}`
    })
  const lines = [
    `| feature | ${columns.join(' | ')} |`,
    `| --- | ${columns.map(() => '---').join(' | ')} |`,
    ...Object.entries(table).map(([feature, found]) => `| ${feature} | ${cells(found).join(' | ')} |`),
  ]
  const page = await readFile(PAGE, 'utf8')
  const [before, rest = ''] = page.split('<!-- features -->\n')
  const [, after] = rest.split('<!-- /features -->')
  const written = `${before}<!-- features -->\n\n${lines.join('\n')}\n\n<!-- /features -->${after}`
  if (process.env.UPDATE_DOCS === '1') await writeFile(PAGE, written)
  expect(failures).toEqual([])
  expect(page, 'Run this test with UPDATE_DOCS=1').toBe(written)
})
