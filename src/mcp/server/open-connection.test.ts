import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ProtocolError } from '@modelcontextprotocol/server'
import { describe, expect, test, vi } from 'vitest'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { type Era, httpYard, until } from './fixtures/http-yard.ts'
import { type Library, libraryOf } from './library.ts'

const NOTE = { uri: 'note://1', name: 'note', mimeType: 'text/plain' }

function memoryLibrary(): Library & { change(): void; readonly followers: Set<() => void> } {
  let listener = (_what: 'resources' | 'prompts') => {}
  const followers = new Set<() => void>()
  return {
    followers,
    subscribe: async (uri, { tenant }, told) => {
      if (!uri.startsWith('note:') || tenant === 'other') return undefined
      followers.add(told)
      return () => followers.delete(told)
    },
    complete: async ({ argument }) => ({ completion: { values: [`${argument.value}!`] } }),
    change: () => listener('resources'),
    onChange(told) {
      listener = told
      return () => {}
    },
    listResources: async ({ tenant }) => (tenant === 'other' ? [] : [NOTE]),
    listResourceTemplates: async () => [{ uriTemplate: 'note://{id}', name: 'notes' }],
    readResource: async (uri) => {
      if (uri === 'note://down') throw new Error('connect ECONNREFUSED 10.0.0.7:80')
      if (uri === 'note://denied') throw new ProtocolError(-32_005, 'The server says no')
      return uri === NOTE.uri ? { contents: [{ uri, text: 'Buy milk' }] } : undefined
    },
    listPrompts: async () => [{ name: 'greet', arguments: [{ name: 'who', required: true }] }],
    getPrompt: async (name, { who }) =>
      name === 'greet' ? { messages: [{ role: 'user', content: { type: 'text', text: `Greet ${who}` } }] } : undefined,
  }
}

describe.each<Era>(['legacy', 'modern'])('resources and prompts for a client of the %s era', (era) => {
  test('are listed, read and got', async () => {
    const { client } = await httpYard({ library: memoryLibrary() })
    const connected = await client(era)
    expect((await connected.listResources()).resources).toEqual([NOTE])
    expect((await connected.listResourceTemplates()).resourceTemplates).toMatchObject([{ uriTemplate: 'note://{id}' }])
    expect((await connected.readResource({ uri: NOTE.uri })).contents).toEqual([{ uri: NOTE.uri, text: 'Buy milk' }])
    expect((await connected.listPrompts()).prompts).toMatchObject([{ name: 'greet' }])
    const { messages } = await connected.getPrompt({ name: 'greet', arguments: { who: 'Ada' } })
    expect(messages[0]?.content).toEqual({ type: 'text', text: 'Greet Ada' })
  })

  test('that are not there are errors of the protocol', async () => {
    const { client } = await httpYard({ library: memoryLibrary() })
    const connected = await client(era)
    await expect(connected.readResource({ uri: 'note://2' })).rejects.toMatchObject({
      message: expect.stringContaining("Resource 'note://2' not found"),
      data: { uri: 'note://2' },
    })
    await expect(connected.getPrompt({ name: 'part' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("Prompt 'part' not found"),
    })
  })

  test('what their server says reaches the client unchanged, and what it is reached by does not', async () => {
    const { client, log } = await httpYard({ library: memoryLibrary() })
    const connected = await client(era)
    await expect(connected.readResource({ uri: 'note://denied' })).rejects.toMatchObject({ code: -32005 })
    const fault = await connected.readResource({ uri: 'note://down' }).catch((error: Error) => error.message)
    expect(fault).toContain("Resource 'note://down' could not be read")
    expect(fault).not.toContain('10.0.0.7')
    expect(log.lines.some(({ message }) => message.includes('note://down'))).toBe(true)
  })

  test('changes are told', async () => {
    const library = memoryLibrary()
    const { client } = await httpYard({ library })
    let told = 0
    const onChanged = () => void told++
    await client(era, {}, { listChanged: { resources: { onChanged, autoRefresh: false } } })
    library.change()
    await until(() => told === 1)
  })
})

describe.each<Era>(['legacy', 'modern'])('a client of the %s era', (era) => {
  test('reads within the limits of its caller, and every read is recorded', async () => {
    const rate = { key: 'caller', calls: 2, perMs: 60_000, description: "Caller 'ada' may make 2 calls a minute" }
    const contextOf = () => ({ tenant: 'acme', caller: 'ada', rates: [rate] })
    const { client, records, executor } = await httpYard({ library: memoryLibrary() }, { contextOf })
    const connected = await client(era)
    await connected.readResource({ uri: NOTE.uri })
    await expect(connected.getPrompt({ name: 'part' })).rejects.toThrow('not found')
    const refused = { message: expect.stringContaining(rate.description), data: { error_code: 'RATE_LIMITED' } }
    await expect(connected.readResource({ uri: NOTE.uri })).rejects.toMatchObject(refused)
    await expect(connected.getPrompt({ name: 'greet' })).rejects.toMatchObject(refused)
    const ref = { type: 'ref/prompt', name: 'greet' } as const
    await expect(connected.complete({ ref, argument: { name: 'who', value: 'A' } })).rejects.toMatchObject(refused)
    executor.flush()
    const by = { tenant: 'acme', caller: 'ada', source: 'mcp' }
    expect(records).toMatchObject([
      { ...by, tool: 'mcp resources/read', code: undefined, params: { uri: NOTE.uri } },
      { ...by, tool: 'mcp prompts/get', code: 'EXECUTION_ERROR' },
      { ...by, tool: 'mcp resources/read', code: 'RATE_LIMITED' },
      { ...by, tool: 'mcp prompts/get', code: 'RATE_LIMITED' },
      { ...by, tool: 'mcp completion/complete', code: 'RATE_LIMITED', params: { ref, argument: { who: 'A' } } },
    ])
  })

  test('lists and follows within the limits of its caller', async () => {
    const rate = { key: 'caller', calls: 5, perMs: 60_000, description: "Caller 'ada' may make 5 calls a minute" }
    const contextOf = () => ({ tenant: 'acme', caller: 'ada', rates: [rate] })
    const { client, records, executor } = await httpYard({ library: memoryLibrary() }, { contextOf })
    const connected = await client(era)
    const list = () => connected.request({ method: 'resources/list' })
    await list()
    await connected.request({ method: 'resources/templates/list' })
    await connected.request({ method: 'prompts/list' })
    const uris = ['note://1', 'note://2', 'note://3']
    if (era === 'modern') {
      const { honoredFilter } = await connected.listen({ resourceSubscriptions: uris })
      expect(honoredFilter.resourceSubscriptions).toEqual(['note://1', 'note://2'])
    } else {
      for (const uri of uris.slice(0, 2)) await connected.subscribeResource({ uri })
      await expect(connected.subscribeResource({ uri: 'note://3' })).rejects.toThrow(rate.description)
    }
    await expect(list()).rejects.toMatchObject({ data: { error_code: 'RATE_LIMITED' } })
    executor.flush()
    const recorded = uris.map((uri) => ({ tool: 'mcp resources/subscribe', params: { uri } }))
    expect(records).toMatchObject(recorded)
  })

  test('gets no resource over 1 MB', async () => {
    const library = {
      ...memoryLibrary(),
      readResource: async (uri: string) => ({ contents: [{ uri, text: 'x'.repeat(2e6) }] }),
    }
    const { client } = await httpYard({ library })
    const read = (await client(era)).readResource({ uri: 'note://large' })
    await expect(read).rejects.toMatchObject({ data: { error_code: 'RESULT_TOO_LARGE' } })
  })

  test('follows 100 resources that its caller may read, until it leaves', async () => {
    const library = memoryLibrary()
    const contextOf = ({ headers }: { headers: Record<string, unknown> }) => ({ tenant: String(headers['x-tenant']) })
    const { client } = await httpYard({ library }, { contextOf })
    const follow = async (tenant: string, uris: readonly string[]) => {
      const connected = await client(era, { 'x-tenant': tenant })
      const heard: string[] = []
      connected.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri))
      if (era === 'modern')
        return {
          connected,
          heard,
          followed: await connected
            .listen({ resourceSubscriptions: [...uris] })
            .then(({ honoredFilter }) => honoredFilter.resourceSubscriptions),
        }
      const followed: string[] = []
      for (const uri of uris)
        await connected.subscribeResource({ uri }).then(
          () => followed.push(uri),
          () => {},
        )
      return { connected, heard, followed }
    }
    const uris = Array.from({ length: 150 }, (_, index) => `note://${index}`)
    const one = await follow('acme', ['file:///etc/passwd', ...uris])
    expect(one.followed).toHaveLength(era === 'modern' ? 99 : 100)
    expect(one.followed).not.toContain('file:///etc/passwd')
    const other = await follow('other', ['note://1'])
    expect(other.followed ?? []).toEqual([])
    for (const told of library.followers) told()
    await until(() => one.heard.length === one.followed?.length)
    expect(new Set(one.heard)).toEqual(new Set(one.followed))
    expect(other.heard).toEqual([])
    const { transport } = one.connected
    if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession()
    await one.connected.close()
    await until(() => library.followers.size === 0)
  })
})

test('lists of prompts have pages of 100, sorted by name', async () => {
  const names = Array.from({ length: 250 }, (_, index) => `prompt-${index}`)
  const library = { ...memoryLibrary(), listPrompts: async () => names.map((name) => ({ name })) }
  const { client } = await httpYard({ library })
  const connected = await client('modern')
  const first = await connected.listPrompts({ cursor: Buffer.from('after:').toString('base64url') })
  expect([first.prompts.length, first.nextCursor]).toEqual([100, expect.any(String)])
  expect((await connected.listPrompts()).prompts.map(({ name }) => name)).toEqual(names.toSorted())
  await expect(connected.listPrompts({ cursor: 'x' })).rejects.toThrow('cursor')
})

test('a part of a folder has nothing from beside it', async () => {
  const read: string[] = []
  const library = {
    ...memoryLibrary(),
    readResource: async (uri: string) => {
      read.push(uri)
      return { contents: [] }
    },
  }
  const part = libraryOf(library, { tools: [], resources: ['note://faq/*'] })
  const beside = ['../x', 'a/../../x', '%2e%2E/x', '..%2fx', 'a\\..\\..\\x', './../x', 'a/..', 'a/..?x', '.%2e%5cx']
  for (const path of beside) {
    expect([path, await part.readResource(`note://faq/${path}`, {})]).toEqual([path, undefined])
    expect(await part.subscribe?.(`note://faq/${path}`, {}, () => {})).toBeUndefined()
  }
  for (const path of ['a..b', '...', 'a/.hidden', 'v1.2/x']) await part.readResource(`note://faq/${path}`, {})
  expect(read).toEqual(['note://faq/a..b', 'note://faq/...', 'note://faq/a/.hidden', 'note://faq/v1.2/x'])
})

test('an approval is opened at the address of the server for people', async () => {
  const details = { approval: { id: 'a 1', expires_at: '2030-01-01T00:00:00.000Z' } }
  const approvals = {
    path: '/approvals/',
    origin: 'https://tools.example.com',
    mayDecide: () => false,
    decide: vi.fn(),
  }
  const { client, add } = await httpYard({ approvals })
  add('pay', () => Promise.reject(new ToolExecutionError('APPROVAL_REQUIRED', 'Ask', { details })))
  const connected = await client('modern', {}, { capabilities: { elicitation: { url: {} } } })
  const asked: unknown[] = []
  connected.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params)
    return { action: 'accept' }
  })
  await connected.callTool({ name: 'pay' })
  expect(asked).toMatchObject([{ mode: 'url', url: 'https://tools.example.com/approvals/a%201' }])
})

test('without a library neither is offered', async () => {
  const { client } = await httpYard()
  expect((await client('legacy')).getServerCapabilities()).not.toHaveProperty('resources')
})
