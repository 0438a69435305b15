import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { CallContext } from '../../../core/call-context.ts'
import { never } from '../../../core/fixtures/code-yard.ts'
import type { Kind } from '../../../core/handler.ts'
import type { Params } from '../../../core/tool.ts'
import { type Era, httpYard, until } from '../fixtures/http-yard.ts'

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

/** The test's callers say who they are. */
const contextOf = ({ headers }: IncomingMessage): CallContext => ({
  tenant: String(headers['x-tenant'] ?? 'local'),
  caller: String(headers['x-caller'] ?? 'someone'),
  flags: headers['x-may'] === undefined ? {} : { [String(headers['x-may'])]: true },
})

describe.each<[Era, string]>([
  ['legacy', '2025-11-25'],
  ['modern', '2026-07-28'],
])('a client of the %s era', (era, version) => {
  test('negotiates its version, and learns who serves it', async () => {
    const { client } = await httpYard()
    const connected = await client(era)
    expect(connected.getNegotiatedProtocolVersion()).toBe(version)
    expect(connected.getServerVersion()).toMatchObject({ name: 'toolyard', version: '1.2.3' })
    expect(connected.getServerCapabilities()).toEqual({ tools: { listChanged: true }, logging: {} })
  })

  test('lists tools with their schemas and what their effects say', async () => {
    const { client, add } = await httpYard()
    add('get', async () => 1, { effect: 'read', parameters: CITY, description: 'Gets it' })
    add('put', async () => 1, { effect: 'idempotent' })
    add('post', async () => 1, { effect: 'write' })
    add('unsaid', async () => 1)
    const { tools } = await (await client(era)).listTools()
    expect(tools.find(({ name }) => name === 'get')).toEqual({
      name: 'get',
      description: 'Gets it',
      inputSchema: CITY,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
    })
    expect(Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]))).toMatchObject({
      put: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
      post: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
    })
    expect(tools.find(({ name }) => name === 'unsaid')).not.toHaveProperty('annotations')
  })

  test('pages through many tools', async () => {
    const { client, add } = await httpYard()
    for (let index = 0; index < 250; index++) add(`tool_${index}`, async () => index)
    const connected = await client(era)
    const first = await connected.listTools({ cursor: (await connected.request({ method: 'tools/list' })).nextCursor })
    expect(first.tools).toHaveLength(100)
    expect(first.nextCursor).toBeDefined()
    expect((await connected.listTools()).tools).toHaveLength(250)
  })

  test('calls a tool: an object comes as text and as structured content, a string as it is', async () => {
    const { client, add } = await httpYard()
    add('weather', async ({ city }) => ({ city, sunny: true }), { parameters: CITY })
    add('word', async () => 'hello')
    const connected = await client(era)
    expect(await connected.callTool({ name: 'weather', arguments: { city: 'Rome' } })).toMatchObject({
      content: [{ type: 'text', text: '{"city":"Rome","sunny":true}' }],
      structuredContent: { city: 'Rome', sunny: true },
    })
    expect((await connected.callTool({ name: 'word' })).content).toEqual([{ type: 'text', text: 'hello' }])
  })

  test('gets a failure as a result that has the sentence and the code', async () => {
    const { client, add } = await httpYard()
    add('weather', async () => 1, { parameters: CITY })
    const result = await (await client(era)).callTool({ name: 'weather', arguments: { city: 7 } })
    const error = 'Invalid parameters: city must be a string'
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: error }] })
    expect(result.structuredContent).toMatchObject({
      success: false,
      error,
      error_code: 'INVALID_PARAMETERS',
      tool_name: 'weather',
    })
  })

  test('is told by an error of the protocol that a tool does not exist, and which one may be meant', async () => {
    const { client, add, executor, records } = await httpYard()
    add('weather', async () => 1)
    const call = (await client(era)).callTool({ name: 'wether' })
    await expect(call).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("Tool 'wether' not found"),
      data: { error_code: 'TOOL_NOT_FOUND', suggestions: ['weather'] },
    })
    executor.flush()
    expect(records).toMatchObject([{ tool: 'wether', source: 'mcp', code: 'TOOL_NOT_FOUND' }])
  })

  test('hears of progress before the result', async () => {
    const { client, add } = await httpYard()
    add('slow', async (_params, { report }) => {
      report({ progress: 1, total: 2, message: 'half' })
      report(1)
      report(2)
      return 'done'
    })
    const heard: unknown[] = []
    const onprogress = (progress: unknown) => void heard.push(progress)
    const result = await (await client(era)).callTool({ name: 'slow' }, { onprogress })
    expect(result.content).toEqual([{ type: 'text', text: 'done' }])
    expect(heard).toEqual([{ progress: 1, total: 2, message: 'half' }, { progress: 2 }])
  })

  test('cancels a call: the handler is told, and the call is recorded as cancelled', async () => {
    const { client, add, executor, records } = await httpYard()
    let told: AbortSignal | undefined
    add('forever', (_params, { signal }) => {
      told = signal
      return never()
    })
    const abort = new AbortController()
    const call = (await client(era)).callTool({ name: 'forever' }, { signal: abort.signal })
    await until(() => told !== undefined)
    abort.abort('enough')
    await expect(call).rejects.toThrow()
    await until(() => told?.aborted === true)
    executor.flush()
    expect(records).toMatchObject([{ tool: 'forever', code: 'CANCELLED' }])
  })

  test('is told once that the list of tools has changed, however many have', async () => {
    const { client, add, registry } = await httpYard()
    let told = 0
    const onChanged = () => void told++
    const rest = { listChanged: { tools: { onChanged, autoRefresh: false, debounceMs: 0 } } }
    const connected = await client(era, {}, rest)
    add('first', async () => 1)
    await until(() => told > 0)
    for (let index = 0; index < 50; index++) add(`tool_${index}`, async () => index)
    registry.unregister('first')
    await until(() => told > 1)
    expect((await connected.listTools()).tools).toHaveLength(50)
    expect(told).toBe(2)
  })

  test('sees and calls only what its tenant may', async () => {
    const { client, add } = await httpYard({}, { contextOf })
    add('open', async () => 'yes')
    add('closed', async () => 'yes', { permissions: ['secrets'] })
    const [one, other] = [await client(era, { 'x-may': 'secrets' }), await client(era, { 'x-tenant': 'other' })]
    const names = async (connected: typeof one) => (await connected.listTools()).tools.map(({ name }) => name)
    expect([await names(one), await names(other)]).toEqual([['closed', 'open'], ['open']])
    expect((await one.callTool({ name: 'closed' })).content).toEqual([{ type: 'text', text: 'yes' }])
    expect(await other.callTool({ name: 'closed' })).toMatchObject({
      isError: true,
      structuredContent: { error_code: 'PERMISSION_DENIED' },
    })
  })

  test('calls with the context of who it is', async () => {
    const { client, add, executor, records } = await httpYard({}, { contextOf })
    add('who', async (_params, { tenant }) => tenant)
    const connected = await client(era, { 'x-tenant': 'acme', 'x-caller': 'key-7' })
    expect((await connected.callTool({ name: 'who' })).content).toEqual([{ type: 'text', text: 'acme' }])
    executor.flush()
    expect(records).toMatchObject([{ tenant: 'acme', caller: 'key-7', source: 'mcp' }])
  })
})

test('a client of an older era hears what tools log, once it has asked for it', async () => {
  const { client, add } = await httpYard()
  add('talk', async (_params, { report }) => {
    report({ level: 'debug', data: 'small' })
    report({ level: 'warning', data: { large: true }, logger: 'talk' })
    return 'done'
  })
  const connected = await client('legacy')
  const heard: unknown[] = []
  connected.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params))
  await connected.callTool({ name: 'talk' })
  await connected.setLoggingLevel('info')
  await connected.callTool({ name: 'talk' })
  expect(heard).toEqual([{ level: 'warning', data: { large: true }, logger: 'talk' }])
})

test('a tool of LangChain is called like any other', async () => {
  const invoke = async ({ city }: Params) => `Sunny in ${city}`
  const langchain: Kind = { effect: () => 'write', bind: () => () => invoke }
  const yard = await httpYard({}, {}, { kinds: { langchain } })
  yard.registry.register({ lc_name: 'weather', description: 'The weather', schema: CITY, invoke })
  const result = await (await yard.client('modern')).callTool({ name: 'weather', arguments: { city: 'Rome' } })
  expect(result.content).toEqual([{ type: 'text', text: 'Sunny in Rome' }])
})

test('a client can ping the server', async () => {
  const { client } = await httpYard()
  expect(await (await client('legacy')).ping()).toEqual({})
})
