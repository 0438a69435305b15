import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { EVERYTHING } from '../src/cli/fixtures/mcp-config.ts'
import { resultContent } from '../src/models/content.ts'
import { anthropicFrames, geminiFrames, openaiChatFrames } from '../src/models/fixtures/wire-frames.ts'
import { startWireServer, streamed } from '../src/models/fixtures/wire-server.ts'
import { openProvider } from '../src/models/providers/open-provider.ts'
import { newStoredKey } from '../src/server/fixtures/new-stored-key.ts'
import { openTestServer, type TestServer } from '../src/server/fixtures/open-server.ts'
import { readStream } from '../src/testing/model-contract.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

const FORWARD = { logging: true, elicitation: true, sampling: true }
const ASKED = ['trigger-elicitation-request', 'trigger-sampling-request']

let server: TestServer
let [acme, globex] = ['', '']

beforeAll(async () => {
  server = await openTestServer({
    tools: { enabled: true },
    mcpServers: { one: { ...EVERYTHING, forward: FORWARD }, two: EVERYTHING, off: { ...EVERYTHING, disabled: true } },
    mcp: {
      servers_out: {
        small: { tools: ['ech*', 'get-sum'], prompts: ['simple-prompt'], resources: ['demo://resource/static/*'] },
        tools: { tools: ['two__echo'] },
      },
    },
  })
  await server.installation.manager.getMcpServers().start()
  acme = await server.key('acme', 'user')
  globex = await server.key('globex', 'user')
})
afterAll(() => server.close())

async function connect(key: string, options: ClientOptions = {}, path = '/mcp', mode: 'auto' | 'legacy' = 'auto') {
  const client = new Client({ name: 'test', version: '1' }, { ...options, versionNegotiation: { mode } })
  const requestInit = { headers: { 'x-api-key': key } }
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url + path), { requestInit }))
  onTestFinished(() => client.close())
  return client
}

/** A client that answers questions, and what it was asked. */
async function asked(key: string, mode: 'auto' | 'legacy' = 'auto') {
  const heard: string[] = []
  const client = await connect(key, { capabilities: { elicitation: {}, sampling: {} } }, '/mcp', mode)
  client.setRequestHandler('elicitation/create', ({ params }) => {
    heard.push(params.message)
    return { action: 'decline' }
  })
  client.setRequestHandler('sampling/createMessage', () => {
    heard.push('sampling')
    return { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }
  })
  return { client, heard }
}

const textOf = ({ content }: { content: readonly unknown[] }) => (content[0] as { text: string }).text
const sampling = { name: 'trigger-sampling-request', arguments: { prompt: 'Hello' } }

describe('MCP gateway', () => {
  test('[16.1-1] Prompts, resources, resource templates, completions, logging, elicitation and sampling of connected servers are passed through to clients that can use them', async () => {
    for (const mode of ['auto', 'legacy'] as const) {
      const { client, heard } = await asked(acme, mode)
      const prompts = (await client.listPrompts()).prompts.map(({ name }) => name)
      expect(prompts).toEqual(expect.arrayContaining(['args-prompt', 'two__args-prompt']))
      const args = { city: 'Bonn' }
      expect((await client.getPrompt({ name: 'two__args-prompt', arguments: args })).messages).toHaveLength(1)
      const ref = { type: 'ref/prompt', name: 'two__completable-prompt' } as const
      const completed = await client.complete({ ref, argument: { name: 'department', value: 'E' } })
      expect(completed.completion.values).toEqual(['Engineering'])

      const uris = (await client.listResources()).resources.map(({ uri }) => uri)
      expect(new Set(uris).size).toBe(uris.length)
      const own = uris.find((uri) => uri.startsWith('two+')) ?? ''
      expect(uris).toContain(own.slice('two+'.length))
      for (const uri of [own, own.slice('two+'.length)]) {
        expect((await client.readResource({ uri })).contents[0]?.uri).toBe(uri)
      }
      const templates = (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)
      expect(templates).toContain('two+demo://resource/dynamic/text/{resourceId}')
      const { contents } = await client.readResource({ uri: 'two+demo://resource/dynamic/text/1' })
      expect(contents[0]).toMatchObject({ uri: 'two+demo://resource/dynamic/text/1', text: expect.any(String) })

      const logs: unknown[] = []
      client.setNotificationHandler('notifications/message', ({ params }) => void logs.push(params))
      if (mode === 'legacy') await client.setLoggingLevel('debug')
      const _meta = mode === 'legacy' ? {} : { 'io.modelcontextprotocol/logLevel': 'debug' }
      const logged = async () => {
        await client.callTool({ name: 'toggle-simulated-logging', _meta })
        return logs.length
      }
      await expect.poll(logged).toBeGreaterThan(0)
      expect(textOf(await client.callTool({ name: 'trigger-elicitation-request' }))).toContain('declined')
      expect(textOf(await client.callTool(sampling))).toContain('sampled')
      expect(heard).toEqual([expect.stringContaining("MCP server 'one' asks: "), 'sampling'])
    }
  })

  test('[16.1-2] Sampling and elicitation are passed through only if configured', async () => {
    const { client, heard } = await asked(acme)
    const other = await asked(globex)
    const plain = await connect(acme)
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining([...ASKED, 'two__echo']))
    // Without the setting, the server learns of no client that it could ask.
    for (const name of ASKED) expect(names).not.toContain(`two__${name}`)
    // With it, a call of a client that can't be asked asks nobody else.
    const [failed] = await Promise.all([
      plain.callTool(sampling),
      other.client.callTool({ name: 'echo', arguments: { message: 'a' } }),
    ])
    expect(failed).toMatchObject({ isError: true })
    expect([...heard, ...other.heard]).toEqual([])
    expect(textOf(await client.callTool(sampling))).toContain('sampled')
    expect([heard, other.heard]).toEqual([['sampling'], []])
  })

  test('[16.1-3] Tool results keep images, audio and resource links for models that take them. Other models get a short text instead', async () => {
    const executor = server.installation.manager.getExecutor()
    const result = await executor.execute('get-tiny-image', {})
    const { content } = (result as unknown as { result: { content: { data?: string }[] } }).result
    const data = content.find((block) => block.data)?.data ?? ''
    expect(data.length).toBeGreaterThan(1_000)
    const client = await connect(acme)
    expect((await client.callTool({ name: 'get-tiny-image' })).content).toContainEqual(
      expect.objectContaining({ data }),
    )
    const links = (await client.callTool({ name: 'two__get-resource-links', arguments: { count: 2 } })).content
    const uris = links.flatMap((block) => (block.type === 'resource_link' ? [block.uri] : []))
    expect(uris).toHaveLength(2)
    for (const uri of uris) expect((await client.readResource({ uri })).contents[0]?.uri).toBe(uri)

    const wires = await startWireServer()
    onTestFinished(() => wires.stop())
    const look = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }
    const calls = [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } } as const]
    for (const { type, path, frames, api } of [
      { type: 'openai', path: '/v1', frames: openaiChatFrames, api: 'chat' as const },
      { type: 'anthropic', path: '/v1', frames: anthropicFrames },
      { type: 'gemini', path: '/v1beta', frames: geminiFrames },
    ]) {
      const provider = await openProvider({ type, base_url: wires.url + path, api_key: 'k', ...(api && { api }) })
      for (const capabilities of [['image-input'], ['text-input']]) {
        wires.replies = [streamed([...frames.start, ...frames.text('Ok.'), ...frames.finish('stop')])]
        const model = provider.model('m', { capabilities })
        await readStream(model, {
          messages: [
            { role: 'user', content: 'Look.' },
            { role: 'assistant', content: null, tool_calls: calls },
            { role: 'tool', tool_call_id: 'a', name: 'look', content: resultContent(result, model.accepts) },
          ],
          tools: [look],
        })
        const sent = JSON.stringify(wires.requests.at(-1)?.body)
        expect(sent).toContain('[image image/png, ')
        expect(sent.includes(data)).toBe(capabilities[0] === 'image-input')
      }
    }
  })

  test('[16.1-4] Virtual servers: mcp.servers_out {<name>: {tools: [patterns], prompts?, resources?}} at /mcp/<name>', async () => {
    for (const mode of ['auto', 'legacy'] as const) {
      const client = await connect(acme, {}, '/mcp/small', mode)
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo', 'get-sum'])
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['simple-prompt'])
      const { resources } = await client.listResources()
      expect(resources.length).toBeGreaterThan(0)
      for (const { uri } of resources) expect(uri).toMatch(/^demo:\/\/resource\/static\//)
      expect((await client.listResourceTemplates()).resourceTemplates).toEqual([])
      expect(textOf(await client.callTool({ name: 'echo', arguments: { message: 'hi' } }))).toContain('hi')
      await expect(client.callTool({ name: 'two__echo', arguments: { message: 'a' } })).rejects.toThrow('not found')
      await expect(client.getPrompt({ name: 'two__simple-prompt' })).rejects.toThrow('not found')
      const hidden = 'one+demo://resource/dynamic/text/1'
      await expect(client.readResource({ uri: hidden })).rejects.toThrow('not found')
      const tools = await connect(acme, {}, '/mcp/tools', mode)
      expect((await tools.listTools()).tools.map(({ name }) => name)).toEqual(['two__echo'])
      expect([(await tools.listPrompts()).prompts, (await tools.listResources()).resources]).toEqual([[], []])
    }
    const { text: narrow, stored } = newStoredKey('acme', 'user', { tools: ['get-*', 'two__*'] })
    await server.installation.storage.keys.create(stored)
    await server.installation.callers.load(server.installation.storage.keys)
    const limited = await connect(narrow, {}, '/mcp/small')
    expect((await limited.listTools()).tools.map(({ name }) => name)).toEqual(['get-sum'])
    expect(await limited.callTool({ name: 'echo', arguments: { message: 'a' } })).toMatchObject({
      isError: true,
      structuredContent: { error_code: 'PERMISSION_DENIED' },
    })
    const post = (path: string, headers: Record<string, string>) =>
      fetch(server.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: '{}',
      })
    expect((await post('/mcp/none', { 'x-api-key': acme })).status).toBe(404)
    expect((await post('/mcp/constructor', { 'x-api-key': acme })).status).toBe(404)
    expect((await post('/mcp/small', {})).status).toBe(401)
  })
})
