import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { CallContext } from '../../core/call-context.ts'
import { systemClock } from '../../core/clock.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { silentLog } from '../../core/log.ts'
import { guardParameters } from '../../core/schema/guard-schema.ts'
import { FollowedResources } from './followed-resources.ts'
import type { McpConnection } from './mcp-connection.ts'
import { McpServers } from './mcp-servers.ts'
import type { PinStore } from './pinned-tools.ts'
import { ServerLibrary } from './server-library.ts'

const EVERYTHING = new URL(
  '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
  import.meta.url,
)
const pins = { read: async () => undefined, write: async () => {} }

let registry = new ToolRegistry()

async function library(given: string | { pins: PinStore; pin: true }, ...more: string[]) {
  const names = typeof given === 'string' ? [given, ...more] : more
  const { pin = false, pins: store = pins } = typeof given === 'string' ? {} : given
  registry = new ToolRegistry()
  const reach = { type: 'stdio', command: process.execPath, args: [EVERYTHING.pathname, 'stdio'], env: {} } as const
  const parts = { registry, log: silentLog, clock: systemClock, pins: store }
  const servers = new McpServers(
    names.map((name) => ({ name, reach, ...(pin && { pin }) })),
    parts,
  )
  onTestFinished(() => servers.close())
  await servers.start()
  return servers.library
}

describe('resources and prompts of servers', () => {
  test('are listed and can be read', async () => {
    const found = await library('everything')
    const [first] = await found.listResources()
    const read = await found.readResource(first?.uri ?? '')
    expect(read?.contents[0]).toMatchObject({ uri: first?.uri })
    expect((await found.listResourceTemplates()).length).toBeGreaterThan(0)
    expect(await found.readResource('demo://nowhere/at/all')).toBeUndefined()
    const [prompt] = await found.listPrompts()
    const text = await found.getPrompt(prompt?.name ?? '', {})
    expect(text?.messages.length).toBeGreaterThan(0)
    expect(await found.getPrompt('no-such-prompt', {})).toBeUndefined()
  })

  test('belong to callers that may use a tool of the server', async () => {
    const found = await library('everything')
    const [first] = await found.listResources()
    const [prompt] = await found.listPrompts()
    const contents = async (context: CallContext) => [
      (await found.listResources(context)).length > 0,
      (await found.listResourceTemplates(context)).length > 0,
      (await found.readResource(first?.uri ?? '', context)) !== undefined,
      (await found.listPrompts(context)).length > 0,
      (await found.getPrompt(prompt?.name ?? '', {}, context)) !== undefined,
    ]
    const all = [true, true, true, true, true]
    const none = [false, false, false, false, false]
    expect(await contents({ tools: ['calculate'] })).toEqual(none)
    expect(await contents({ tools: ['ech*'] })).toEqual(all)
    const off = Object.fromEntries(registry.definitions().map(({ name }) => [name, false]))
    expect(await contents({ flags: off })).toEqual(none)
    expect(await contents({ flags: { ...off, echo: true } })).toEqual(all)
  })

  test('belong to nobody while the tools of the server wait for approval', async () => {
    const pinned = { ...pins, read: async () => ({ echo: 'another' }) }
    const found = await library({ pins: pinned, pin: true }, 'everything')
    expect(registry.definitions()).toEqual([])
    expect([await found.listResources(), await found.listPrompts()]).toEqual([[], []])
    expect(await found.readResource('demo://resource/static/document/features.md')).toBeUndefined()
  })

  test('of two servers: a prompt whose name is taken has that of its server before it', async () => {
    const found = await library('one', 'two')
    const names = (await found.listPrompts()).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.some((name) => name.startsWith('two__'))).toBe(true)
    expect(await found.getPrompt(names.find((name) => name.startsWith('two__')) ?? '', {})).toBeDefined()
  })
})

/** What only a server that was asked may add to its answers. */
const QUESTION = { resultType: 'input_required', requestState: 's', inputRequests: {} }

/** A server that lists this, without a process. */
function fake(name: string, lists: Record<string, unknown>, forward = {}) {
  const asked: string[] = []
  const client = {
    getProtocolEra: () => 'legacy',
    request: async ({ method }: { method: string }) => {
      asked.push(method)
      return lists[method] ?? {}
    },
    readResource: async ({ uri }: { uri: string }) => ({ contents: [{ uri, text: `${name} ${uri}` }], ...QUESTION }),
    getPrompt: async () => ({ messages: [{ role: 'user', content: { type: 'text', text: name } }], ...QUESTION }),
    subscribeResource: async ({ uri }: { uri: string }) => void asked.push(`subscribe ${uri}`),
    unsubscribeResource: async ({ uri }: { uri: string }) => void asked.push(`unsubscribe ${uri}`),
  }
  const connection = {
    settings: { name, forward },
    capabilities: { resources: { subscribe: true }, prompts: {} },
    connected: true,
    client: async () => client,
  }
  return { asked, connection: connection as unknown as McpConnection }
}

const libraryOf = (...servers: ReturnType<typeof fake>[]) =>
  new ServerLibrary({
    connections: () => servers.map(({ connection }) => connection),
    configured: servers.map(({ connection }) => connection.settings.name),
    isUsable: (connection, { tools }) => tools === undefined || tools.includes(connection.settings.name),
    log: silentLog,
    clock: systemClock,
    followed: new FollowedResources(systemClock),
  })

const uris = (...all: string[]) => ({ 'resources/list': { resources: all.map((uri) => ({ uri, name: uri })) } })

describe('resources of several servers', () => {
  test('come back to the server that lists them, whoever asks', async () => {
    const found = libraryOf(fake('a_b', uris('x://1', 'a-b-2+x://1')), fake('a-b', uris('x://1', 'x://2')))
    const listed = async (context: CallContext) => (await found.listResources(context)).map(({ uri }) => uri)
    // No server can take a URI that belongs to another one by its prefix.
    expect(await listed({})).toEqual(['x://1', 'a-b+a-b-2+x://1', 'a-b-2+x://1', 'x://2'])
    expect(await listed({ tools: ['a-b'] })).toEqual(['a-b-2+x://1', 'x://2'])
    const read = async (uri: string, context: CallContext = {}) =>
      (await found.readResource(uri, context))?.contents.map((one) => ({ ...one }))
    expect(await read('x://1')).toEqual([{ uri: 'x://1', text: 'a_b x://1' }])
    expect(await read('a-b-2+x://1')).toEqual([{ uri: 'a-b-2+x://1', text: 'a-b x://1' }])
    expect(await read('a-b+a-b-2+x://1')).toMatchObject([{ text: 'a_b a-b-2+x://1' }])
    expect(await read('x://1', { tools: ['a-b'] })).toBeUndefined()
    expect(await read('x://unlisted')).toBeUndefined()
    expect(await read(`a-b+${'x'.repeat(3_000)}`)).toBeUndefined()
    const content = [{ type: 'resource_link', uri: 'x://1' }, { type: 'resource', resource: { uri: 'x://9' } }, 1]
    expect(await found.outward('a-b', { content })).toEqual({
      content: [
        { type: 'resource_link', uri: 'a-b-2+x://1' },
        { type: 'resource', resource: { uri: 'a-b-2+x://9' } },
        1,
      ],
    })
  })

  test('stay with the server that listed them first, as do prompts', async () => {
    const lists: Record<string, unknown> = {}
    const prompts = (...names: string[]) => ({ 'prompts/list': { prompts: names.map((name) => ({ name })) } })
    const greedy = fake('greedy', lists)
    const good = fake('good', { ...uris('x://1'), ...prompts('ask') })
    const found = libraryOf(greedy, good)
    const read = async () => [await found.readResource('x://1'), await found.getPrompt('ask', {})]
    const ofGood = [
      { contents: [{ uri: 'x://1', text: 'good x://1' }] },
      { messages: [{ role: 'user', content: { type: 'text', text: 'good' } }] },
    ]
    expect(await read()).toEqual(ofGood)
    Object.assign(lists, uris('x://1'), prompts('ask', 'good__ask'))
    const both = ['resources', 'prompts'] as const
    for (const what of both) found.changed(greedy.connection, what)
    expect(await read()).toEqual(ofGood)
    expect((await found.listResources()).map(({ uri }) => uri)).toEqual(['greedy+x://1', 'x://1'])
    const names = (await found.listPrompts()).map(({ name }) => name)
    expect(names).toEqual(['greedy__ask', 'greedy__good__ask', 'ask'])
    // A server that is connected again has not listed anything yet.
    const connection = good.connection as { capabilities: unknown }
    const { capabilities } = connection
    connection.capabilities = undefined
    found.connected(good.connection)
    await found.listResources()
    connection.capabilities = capabilities
    expect(await read()).toEqual(ofGood)
  })

  test('are not asked of a server that forwards none', async () => {
    const off = fake('off', uris('x://1'), { resources: false, prompts: false })
    const found = libraryOf(off, fake('on', uris('x://1')))
    expect(await found.listResources()).toMatchObject([{ uri: 'x://1' }])
    expect(await found.listPrompts()).toEqual([])
    expect(await found.readResource('off+x://1')).toMatchObject({ contents: [{ text: 'on off+x://1' }] })
    expect(off.asked).toEqual([])
  })
})

test('a list has 1,000 entries of 16 KB at most, and is read once a minute unless it changes', async () => {
  const many = Array.from({ length: 3_000 }, (_, index) => ({ uri: `x://${index}`, name: 'a' }))
  const large = { uri: 'x://large', name: 'a', description: 'x'.repeat(20_000) }
  const one = fake('one', { 'resources/list': { resources: [large, null, 'x', { name: 'none' }, ...many] } })
  const found = libraryOf(one)
  const listed = await found.listResources()
  expect(listed).toHaveLength(999)
  expect(listed.some(({ uri }) => uri === 'x://large')).toBe(false)
  await found.listResources()
  expect(one.asked).toEqual(['resources/list'])
  found.changed(one.connection, 'resources')
  await found.listResources()
  expect(one.asked).toHaveLength(2)
})

test('a server is told once of all that follow a resource, and once when the last one stops', async () => {
  const one = fake('one', uris('x://1'))
  const found = libraryOf(one)
  const told = vi.fn()
  const stops = await Promise.all([1, 2].map(() => found.subscribe('x://1', {}, () => told())))
  found.followed.updated(one.connection, 'x://1')
  found.followed.updated(one.connection, 'x://1')
  found.followed.updated(one.connection, 'x://2')
  await expect.poll(() => told.mock.calls.length).toBe(2)
  found.followed.connected(one.connection)
  stops[0]?.()
  stops[1]?.()
  await expect.poll(() => one.asked).toContain('unsubscribe x://1')
  expect(one.asked).toEqual(['subscribe x://1', 'subscribe x://1', 'unsubscribe x://1'])
  expect(await found.subscribe('x://1', { tools: [] }, told)).toBeUndefined()
})

test('a caller follows 100 resources of a server, a tenant 250, and all together 1,000', async () => {
  const one = fake('one', uris('x://1'))
  const found = libraryOf(one)
  const follow = (tenant: string, caller: string, n: number) =>
    found.subscribe(`x://${tenant}/${n}`, { tenant, caller }, () => {})
  const stops = []
  for (let n = 0; n < 100; n++) stops.push(await follow('a', 'ada', n))
  await expect(follow('a', 'ada', 100)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  // Another session of the caller follows the same one.
  expect(await follow('a', 'ada', 1)).toBeDefined()
  for (let n = 100; n < 250; n++) await follow('a', n < 200 ? 'bob' : 'cleo', n)
  await expect(follow('a', 'cleo', 250)).rejects.toThrow("Tenant 'a' may follow 250 resources of MCP server 'one'")
  stops[0]?.()
  stops[1]?.()
  expect(await follow('a', 'cleo', 250)).toBeDefined()
  await expect(follow('a', 'ada', 251)).rejects.toThrow('Tenant')
  for (const tenant of ['b', 'c', 'd']) for (let n = 0; n < 250; n++) await follow(tenant, `${n % 5}`, n)
  await expect(follow('e', 'eve', 0)).rejects.toThrow('All callers together')
})

test('lists are named once for each change, and callers with the same servers share them', async () => {
  const many = Array.from({ length: 500 }, (_, index) => `x://${index}`)
  const lists: Record<string, unknown> = uris(...many)
  const servers = Array.from({ length: 5 }, (_, index) => fake(`s${index}`, lists))
  let asked = 0
  const found = new ServerLibrary({
    connections: () => {
      asked++
      return servers.map(({ connection }) => connection)
    },
    configured: servers.map(({ connection }) => connection.settings.name),
    isUsable: (connection, { tools }) => tools === undefined || tools.includes(connection.settings.name),
    log: silentLog,
    clock: systemClock,
    followed: new FollowedResources(systemClock),
  })
  const first = await found.listResources()
  expect(first).toHaveLength(2_500)
  // The work doesn't grow with the entries.
  expect(asked).toBeLessThan(20)
  expect(await found.listResources({ tenant: 'other' })).toBe(first)
  expect(await found.listResources({ tools: ['s1'] })).toHaveLength(500)
  const { connection } = servers[0] as (typeof servers)[0]
  found.changed(connection, 'resources')
  // The same entries again are no change.
  expect(await found.listResources()).toBe(first)
  Object.assign(lists, uris('x://new'))
  found.changed(connection, 'resources')
  expect(await found.listResources()).toHaveLength(2_001)
})

test('lets the process do other work between the checks of listed tools', async () => {
  const turns = vi.spyOn(globalThis, 'setImmediate')
  onTestFinished(() => turns.mockRestore())
  await library('everything')
  const tools = registry.definitions()
  expect(tools.length).toBeGreaterThan(5)
  expect(turns.mock.calls.length).toBeGreaterThanOrEqual(tools.length)
  // The registry does not check them again.
  for (const { parameters } of tools) {
    const read = vi.spyOn(JSON, 'stringify')
    guardParameters(parameters)
    expect(read).not.toHaveBeenCalled()
    read.mockRestore()
  }
})

test('a prompt with the prefix of a configured server is not given to another one', async () => {
  const prompts = (...names: string[]) => ({ 'prompts/list': { prompts: names.map((name) => ({ name })) } })
  const a = fake('a', prompts('b__ask', 'c__ask', 'ask'))
  const found = new ServerLibrary({
    connections: () => [a.connection],
    // Those that are down, disabled, or share no prompts.
    configured: ['a', 'a__b', 'c'],
    isUsable: () => true,
    log: silentLog,
    clock: systemClock,
    followed: new FollowedResources(systemClock),
  })
  expect((await found.listPrompts()).map(({ name }) => name)).toEqual(['b__ask', 'a__c__ask', 'ask'])
  const two = fake('two', prompts('b__ask'))
  const both = new ServerLibrary({
    connections: () => [two.connection, a.connection],
    configured: ['two', 'a', 'a__b'],
    isUsable: () => true,
    log: silentLog,
    clock: systemClock,
    followed: new FollowedResources(systemClock),
  })
  expect((await both.listPrompts()).map(({ name }) => name)).toEqual(['b__ask', 'c__ask', 'ask'])
})
