import { type Handler, ToolLoop, ToolRegistry } from 'toolyard'
import { scripted } from 'toolyard/testing'
import { describe, expect, test } from 'vitest'
import { household } from './fixtures/mcp-servers.ts'
import { tool, withServer } from './fixtures/server.ts'
import { configured, mock } from './fixtures/tool-manager.ts'

/** A version of the tool `greet`, which answers with its version. */
const greet = (version: string, more: object = {}) => ({ ...mock('greet', version), version, ...more })

const text = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
  additionalProperties: false,
})

/** Opens these versions, with a rollout of `greet`. */
const rolledOut = (versions: readonly object[], greet?: object) =>
  configured(versions, { config: { tools: { ...(greet && { rollout: { greet: greet as { current: string } } }) } } })

/** A server with two versions of `greet`, each with a handler of its own, and a key that may change rollouts. */
async function served(rollout: { current: string }, handlers: Readonly<Record<string, Handler>> = {}) {
  const versions = ['1.0.0', '2.0.0'].map((version) => ({
    ...tool('greet', { version }),
    implementation: { type: 'internal', handler: `greet-${version}` },
  }))
  const config = { tools: { enabled: true, registry: versions, rollout: { greet: rollout } } }
  const server = await withServer([], config, {
    handlers: { 'greet-1.0.0': () => '1.0.0', 'greet-2.0.0': () => '2.0.0', ...handlers },
  })
  const admin = await server.key('acme', 'admin', ['observe', 'installation', 'read', 'call'])
  const change = (method: string, path: string, body?: object) =>
    server.ask(`/api/tools/greet/rollout${path}`, {
      method,
      key: admin,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
  const events = async () => {
    const { body } = await server.ask('/audit?type=event&tenant=*', { key: admin })
    const names: string[] = body.rows.map(({ event }: { event: string }) => event)
    return names.filter((event) => event.startsWith('rollout')).toReversed()
  }
  return { ...server, admin, change, events }
}

describe('Versions', () => {
  test('[14.1-1] Several definitions may share a name if their version differs', async () => {
    const { manager, execute } = await configured([greet('1.0.0'), greet('2.0.0'), greet('2.0.0')])
    const { loaded, skipped } = await manager.loadTools()
    expect(loaded).toEqual(['greet', 'greet'])
    expect(skipped).toMatchObject([{ problem: expect.stringContaining('give it another version') }])
    expect(await execute('greet@1.0.0')).toMatchObject({ result: '1.0.0', tool_name: 'greet' })
  })

  test('[14.1-2] Versions are semver. A definition without one is 0.0.0', async () => {
    const { registry, execute, manager } = await configured([mock('greet', 'none'), greet('1.0.0'), greet('1.0')])
    expect(await execute('greet@0.0.0')).toMatchObject({ result: 'none' })
    expect((await manager.loadTools()).skipped).toEqual([
      { name: 'greet', problem: expect.stringContaining('version "1.0"') },
    ])
    const order = [
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0',
      '1.2.0',
      '1.10.0',
    ]
    for (const version of order.toReversed()) registry.register({ ...greet(version), name: 'sorted' })
    expect(registry.versionsOf('sorted').map(({ version }) => version)).toEqual(order)
    for (const version of ['1', '01.0.0', '1.0.0-', '1.0.0-01', 'v1.0.0', '1.0.0 ', '']) {
      expect(() => new ToolRegistry().register(greet(version))).toThrow("isn't a semantic version")
    }
  })

  test('[14.1-3] The current version is rollout.current, else the highest that is not a pre-release', async () => {
    const versions = [greet('1.2.0'), greet('1.10.0'), greet('2.0.0-beta.1')]
    expect(await (await rolledOut(versions)).execute('greet')).toMatchObject({ result: '1.10.0' })
    expect(await (await rolledOut(versions, { current: '1.2.0' })).execute('greet')).toMatchObject({ result: '1.2.0' })
  })

  test('[14.1-4] A call of name takes the current version, name@version exactly that one', async () => {
    const { execute, records } = await configured([greet('1.0.0'), greet('2.0.0', { permissions: ['admin'] })])
    expect(await execute('greet')).toMatchObject({ error_code: 'PERMISSION_DENIED' })
    expect(await execute('greet', {}, { flags: { admin: true } })).toMatchObject({ result: '2.0.0' })
    expect(await execute('greet@1.0.0')).toMatchObject({ result: '1.0.0' })
    expect(await execute('greet@3.0.0', {}, { flags: { admin: true } })).toMatchObject({
      error: "Tool 'greet' has no version '3.0.0': it has 1.0.0, 2.0.0",
      error_code: 'TOOL_NOT_FOUND',
      suggestions: ['greet@1.0.0', 'greet@2.0.0'],
    })
    const seen = records().map(({ tool, version }) => [tool, version])
    expect(seen.slice(0, 3)).toEqual([
      ['greet', '2.0.0'],
      ['greet', '2.0.0'],
      ['greet', '1.0.0'],
    ])
  })

  test('[14.1-5] Models see one tool per name', async () => {
    const { registry } = await configured([greet('1.0.0'), greet('2.0.0'), mock('other')])
    expect(registry.toProviderFormat('mcp').map((tool) => (tool as { name: string }).name)).toEqual(['greet', 'other'])
    expect(registry.toProviderFormat('mcp', ['greet@1.0.0', 'greet'])).toHaveLength(1)
  })

  test('[14.1-6] With deprecated {since?, remove_after?, message?, use?}, calls still run and carry warnings', async () => {
    const deprecated = { since: '2026-10-01', remove_after: '2027-01-01', use: 'greet@2.0.0', message: 'It is slow' }
    const { execute } = await configured([greet('1.0.0', { deprecated }), greet('2.0.0')])
    expect(await execute('greet@1.0.0')).toMatchObject({
      success: true,
      result: '1.0.0',
      warnings: [
        "Tool 'greet' 1.0.0 is deprecated since 2026-10-01. Use greet@2.0.0 instead. It will be removed after 2027-01-01. It is slow",
      ],
    })
    expect(await execute('greet')).not.toHaveProperty('warnings')
  })

  test('[14.1-7] Models are not offered deprecated tools unless pinned', async () => {
    const { registry, executor, log, execute } = await configured([greet('1.0.0', { deprecated: {} })])
    const loop = new ToolLoop(registry, executor, { log })
    const offered = async (allowed_tools?: string[]) => {
      const model = scripted('Hello')
      await loop.answer({ model, messages: [{ role: 'user', content: 'Hi' }], ...(allowed_tools && { allowed_tools }) })
      return model.requests[0]?.tools?.map(({ name }) => name)
    }
    expect(await offered()).toEqual([])
    expect(await offered(['greet'])).toEqual([])
    expect(await offered(['greet@1.0.0'])).toEqual(['greet'])
    expect(await execute('greet')).toMatchObject({ success: true })
  })

  test('[14.1-8] migrate [{from, rename?, defaults?, drop?}] brings parameters of an older version into the newer form before validation', async () => {
    const echo = { implementation: { type: 'builtin', handler: 'echo' } }
    const migrate = [
      { from: '2.0.0', rename: { place: 'city' }, defaults: { unit: 'celsius' } },
      { from: '1.0.0', rename: { where: 'place' }, drop: ['debug'] },
    ]
    const { execute } = await configured([
      { ...greet('3.0.0', { migrate, parameters: text('city', 'unit') }), ...echo },
      { ...greet('1.0.0', { parameters: text('where') }), ...echo },
    ])
    const whole = { city: 'Paris', unit: 'celsius' }
    expect(await execute('greet', { where: 'Paris', debug: 'yes' })).toMatchObject({
      success: true,
      warnings: [
        "The parameters where, debug of tool 'greet' were migrated from version 1.0.0 to 3.0.0",
        "The parameters place of tool 'greet' were migrated from version 2.0.0 to 3.0.0",
      ],
    })
    expect((await execute('greet', { place: 'Paris' })) as object).toMatchObject({ success: true })
    expect(await execute('greet', whole)).not.toHaveProperty('warnings')
    // New parameters are checked as they are.
    expect(await execute('greet', { city: 'Paris' })).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
    expect(await execute('greet@1.0.0', { place: 'Paris' })).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
  })

  test('[14.1-9] MCP definitions that change while pinned become a new version that waits for toolyard mcp approve or the page', async () => {
    const { ask, post, key, execute } = await withServer([], {
      mcpServers: { home: { ...household('changes'), pin: true } },
    })
    const admin = await key('acme', 'admin', ['observe', 'installation'])
    const home = async () => (await ask('/api/mcp/servers', { key: admin })).body.servers[0]
    await expect.poll(async () => (await home()).state, { timeout: 30_000 }).toBe('connected')
    const versions = async () => (await ask('/api/tools/look/versions')).body.versions
    expect(await versions()).toMatchObject([{ version: '1.0.0' }])
    await execute('learn')
    const changed = { tool: 'look', change: 'changed', parts: ['description'], version: '2.0.0' }
    await expect.poll(async () => (await home()).waiting, { timeout: 30_000 }).toMatchObject([changed])
    expect((await execute('look')).body).toMatchObject({ error_code: 'TOOL_NOT_FOUND' })
    const approve = (fingerprints: string[], used = admin) =>
      post('/api/mcp/servers/home/approve', { fingerprints }, { key: used })
    expect((await approve(['another'])).status).toBe(409)
    expect((await approve([], await key('acme'))).status).toBe(403)
    const [{ fingerprint }] = (await home()).waiting
    expect((await approve([fingerprint])).body).not.toHaveProperty('waiting')
    expect(await versions()).toMatchObject([{ version: '2.0.0' }])
    expect((await execute('look')).body).toMatchObject({ success: true })
    const { rows } = (await ask('/audit?type=event&tenant=*', { key: admin })).body
    expect(rows.find(({ event }: { event: string }) => event === 'mcp.pinned')).toMatchObject({
      subject: 'home',
      caller: expect.any(String),
    })
  })

  test('[14.1-10] tools.rollout {<name>: {current, candidate?, percent?, by?: "call" | "session" | "tenant"}} can be changed at run time: toolyard rollout show|start|promote|rollback, REST /api/tools/:name/rollout', async () => {
    const { ask, execute, change, admin, events } = await served({ current: '1.0.0' })
    expect((await execute('greet')).body.result).toBe('1.0.0')
    const started = await change('PUT', '', { candidate: '2.0.0', percent: 100, by: 'tenant' })
    expect(started.body).toMatchObject({
      rollout: { current: '1.0.0', candidate: '2.0.0', percent: 100, by: 'tenant' },
    })
    expect((await execute('greet')).body.result).toBe('2.0.0')
    await change('POST', '/rollback')
    expect((await execute('greet')).body.result).toBe('1.0.0')
    expect((await change('POST', '/promote')).body.error).toContain('has no candidate')
    expect((await change('PUT', '', { candidate: '3.0.0', percent: 1 })).body.error).toContain('it has 1.0.0, 2.0.0')
    await change('PUT', '', { candidate: '2.0.0', percent: 0 })
    await change('POST', '/promote')
    expect((await execute('greet')).body.result).toBe('2.0.0')
    expect((await ask('/api/tools/greet/rollout', { key: admin })).body.rollout).toMatchObject({ current: '2.0.0' })
    await change('DELETE', '')
    expect((await execute('greet')).body.result).toBe('1.0.0')
    expect(await events()).toEqual([
      'rollout.started',
      'rollout.rolled_back',
      'rollout.started',
      'rollout.promoted',
      'rollout.reset',
    ])
  })

  test('[14.1-11] With session (session id, else key) and tenant a caller stays with its side. With call each call is drawn', async () => {
    const versions = [greet('1.0.0'), greet('2.0.0')]
    const sides = async (by: string, percent: number, contexts: readonly object[]) => {
      const { execute } = await rolledOut(versions, { current: '1.0.0', candidate: '2.0.0', percent, by })
      const results = contexts.map((context) => execute('greet', {}, context))
      return (await Promise.all(results)).map((envelope) => envelope.success && envelope.result)
    }
    const callers = Array.from({ length: 400 }, (_, index) => ({ tenant: 'acme', caller: `key-${index}` }))
    const [some, again, more] = [
      await sides('session', 10, callers),
      await sides('session', 10, callers),
      await sides('session', 50, callers),
    ]
    expect(again).toEqual(some)
    const candidates = some.filter((version) => version === '2.0.0').length
    expect(candidates).toBeGreaterThan(10)
    expect(candidates).toBeLessThan(90)
    // Callers that have it keep it when the percentage grows.
    expect(some.every((version, index) => version === '1.0.0' || more[index] === '2.0.0')).toBe(true)
    // Sessions of one key are drawn apart, tenants stay together.
    const sessions = callers.map((_, index) => ({ tenant: 'acme', caller: 'key', session: String(index) }))
    expect(new Set(await sides('session', 50, sessions)).size).toBe(2)
    expect(new Set(await sides('tenant', 50, sessions)).size).toBe(1)
    expect(new Set(await sides('call', 50, Array(400).fill({ tenant: 'acme', caller: 'key' }))).size).toBe(2)
    expect(new Set(await sides('session', 0, callers))).toEqual(new Set(['1.0.0']))
    expect(new Set(await sides('session', 100, callers))).toEqual(new Set(['2.0.0']))
    const keyed = Array(50).fill({ tenant: 'acme', caller: 'key', idempotencyKey: 'once' })
    expect(new Set(await sides('call', 50, keyed)).size).toBe(1)
    // An approval is for one version, so a repeated call must find the same.
    const { registry } = await rolledOut([greet('1.0.0'), greet('2.0.0', { approval: true })], {
      ...{ current: '1.0.0', candidate: '2.0.0', percent: 50, by: 'call' },
    })
    expect(new Set(Array.from({ length: 50 }, () => registry.find('greet', { caller: 'key' }))).size).toBe(1)
  })

  test('[14.1-12] Inside a run, the version offered is the version called', async () => {
    const { registry, executor, log } = await rolledOut(
      [greet('1.0.0', { parameters: text('old') }), greet('2.0.0', { parameters: text('new') })],
      { current: '1.0.0', candidate: '2.0.0', percent: 50, by: 'call' },
    )
    const loop = new ToolLoop(registry, executor, { log })
    const seen = new Set<string>()
    for (let run = 0; run < 40; run++) {
      const calls = ['a', 'b'].map((value) => ({ name: 'greet', arguments: { new: value } }))
      const model = scripted({ calls }, { calls: [{ name: 'greet@1.0.0', arguments: { old: 'c' } }] }, 'Done')
      // The rollout ends while the run goes on.
      if (run === 39) registry.rollOut(new Map([['greet', { current: '1.0.0', candidate: '2.0.0', percent: 100 }]]))
      const events = loop.run({ model, messages: [{ role: 'user', content: 'Hi' }] })
      const results: unknown[] = []
      for await (const event of events) {
        if (run === 39) registry.rollOut(new Map([['greet', { current: '1.0.0' }]]))
        if (event.type === 'call-result') results.push(event.call.result)
      }
      const isNew = JSON.stringify(model.requests[0]?.tools).includes('"new"')
      seen.add(isNew ? 'new' : 'old')
      const expected = isNew ? { result: '2.0.0' } : { error_code: 'INVALID_PARAMETERS' }
      expect(results).toMatchObject([expected, expected, { error_code: 'TOOL_NOT_FOUND' }])
      if (run === 39) expect(isNew).toBe(true)
    }
    expect(seen).toEqual(new Set(['new', 'old']))
  })

  test('[14.1-13] guard {min_calls, max_error_increase} belongs to the entry of a rollout', async () => {
    const { execute, change, installation, log, events } = await served(
      { current: '1.0.0' },
      { 'greet-2.0.0': () => Promise.reject(new Error('broken')) },
    )
    const guard = { min_calls: 20, max_error_increase: 0.1 }
    await change('PUT', '', { candidate: '2.0.0', percent: 0, guard })
    for (let call = 0; call < 20; call++) await Promise.all([execute('greet@1.0.0'), execute('greet@2.0.0')])
    installation.manager.getExecutor().flush()
    await installation.sink.flush()
    await installation.rollouts.checkGuards()
    expect(installation.rollouts.of('greet')).toEqual({ current: '1.0.0', started_at: expect.any(String) })
    expect(log.at('warn')).toContainEqual(expect.objectContaining({ tool: 'greet', candidate: '2.0.0' }))
    expect(await events()).toEqual(['rollout.started', 'rollout.rolled_back'])
  })

  test('[14.1-14] Changing a rollout needs installation', async () => {
    const { ask, change, log, execute } = await served({ current: '1.5.0' })
    expect(log.at('warn')).toContainEqual(
      expect.objectContaining({
        place: 'tools.rollout.greet',
        problem: "There is no version '1.5.0', only 1.0.0, 2.0.0",
      }),
    )
    expect((await execute('greet')).body.result).toBe('2.0.0')
    const body = JSON.stringify({ candidate: '2.0.0', percent: 10 })
    const headers = { 'content-type': 'application/json' }
    expect((await ask('/api/tools/greet/rollout', { method: 'PUT', body, headers })).status).toBe(403)
    for (const [method, path] of [
      ['POST', '/promote'],
      ['POST', '/rollback'],
      ['DELETE', ''],
    ] as const) {
      expect((await ask(`/api/tools/greet/rollout${path}`, { method })).status).toBe(403)
    }
    expect((await change('PUT', '', { candidate: '1.0.0', percent: 10 })).status).toBe(200)
  })

  test('[14.1-15] GET /api/tools/:name/versions and the page compare versions: calls, success rate, p50, p95 and cost, with confidence intervals', async () => {
    const { ask, execute, change } = await served({ current: '1.0.0' })
    await change('PUT', '', { candidate: '2.0.0', percent: 0 })
    for (let call = 0; call < 4; call++) {
      for (const version of ['1.0.0', '2.0.0']) await execute(`greet@${version}`, {}, {})
    }
    // A refused call says nothing about a version.
    await execute('greet@1.0.0', 5)
    const { body } = await ask('/api/tools/greet/versions')
    expect(body).toMatchObject({
      tool: 'greet',
      rollout: { candidate: '2.0.0' },
      versions: [
        { version: '1.0.0', state: 'current', calls: 5, failures: 1, success_rate: 0.8, cost: null },
        { version: '2.0.0', state: 'candidate', calls: 4, failures: 0, success_rate: 1, p95_interval: null },
      ],
    })
    expect(body.versions[1]).toMatchObject({ success_interval: { high: 1 }, p50_ms: expect.any(Number) })
  })

  test('[14.1-16] The comparison of versions has a plain verdict that says "not enough calls yet" when that is so', async () => {
    const { ask, change } = await served({ current: '1.0.0' })
    expect((await ask('/api/tools/greet/versions')).body.comparison).toBeNull()
    await change('PUT', '', { candidate: '2.0.0', percent: 0 })
    expect((await ask('/api/tools/greet/versions')).body.comparison).toMatchObject({
      verdict: 'not_enough_calls',
      sentence: 'Not enough calls yet: 2.0.0 has 0, 1.0.0 has 0, and each needs 100',
    })
  })
})
