import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { PrivateConnections } from './private-connections.ts'
import { forwardedCapabilities, forwardingOf, type McpServerSettings } from './server-settings.ts'

/** Answers nothing until the request is cancelled. */
const silent: typeof fetch = (_url, init) =>
  new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
const reach = { type: 'http', url: 'http://x.test/', headers: {}, fetch: silent } as const
const settings: McpServerSettings = { name: 'x', reach, forward: { elicitation: true } }

test('a server forwards prompts and resources by default, and asks no client', () => {
  const { forward: _, ...plain } = settings
  expect(forwardingOf(plain)).toEqual({
    ...{ prompts: true, resources: true },
    ...{ logging: false, elicitation: false, sampling: false, roots: false },
  })
  const all = {
    elicitation: { url: {} },
    sampling: { tools: {}, context: {} },
    roots: { listChanged: true },
    other: {},
  }
  expect(forwardedCapabilities(forwardingOf(plain), all)).toEqual({})
  const every = forwardingOf({ ...plain, forward: { elicitation: true, sampling: true, roots: true } })
  expect(forwardedCapabilities(every, all)).toEqual({ elicitation: { url: {} }, sampling: { tools: {} }, roots: {} })
  expect(forwardedCapabilities(every, { elicitation: {} })).toEqual({ elicitation: { form: {} } })
  const people = forwardingOf({ ...plain, forward: { elicitation: 'ask', sampling: 'ask' } })
  expect(forwardedCapabilities(people, all)).toEqual({ elicitation: { form: {} }, sampling: {} })
  expect(forwardedCapabilities(people, {})).toEqual({ elicitation: { form: {} }, sampling: {} })
})

// The SDK alone would wait 15 s for the answer.
test('closing ends a connection whose server has not answered yet', { timeout: 10_000 }, async () => {
  const asked = Promise.withResolvers<AbortSignal | null | undefined>()
  const fetch: typeof silent = (url, init) => {
    asked.resolve(init?.signal)
    return silent(url, init)
  }
  const slow = { ...settings, reach: { ...reach, fetch } }
  const connections = new PrivateConnections(slow, { log: silentLog, clock: new ManualClock() })
  const { signal } = new AbortController()
  const call = { tool: 'a', arguments: {}, signal, onProgress: () => {} }
  const called = connections.call(call, undefined, 'acme').catch((error: unknown) => error)
  const request = await asked.promise
  await connections.close()
  expect(request?.aborted).toBe(true)
  expect(await called).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})

test('a caller has 4 connections at most, a tenant 8, and a server 16', async () => {
  const connections = new PrivateConnections(settings, { log: silentLog, clock: new ManualClock() })
  const cancel = new AbortController()
  onTestFinished(() => connections.close())
  const call = (id: string, tenant: string, caller = `${tenant} ${id}`) => {
    const client = { id, caller, capabilities: { elicitation: {} }, ask: async () => ({}) }
    const { signal } = cancel
    return connections.call({ tool: 'a', arguments: {}, signal, onProgress: () => {} }, client, tenant)
  }
  // Each session of an older client is a client of its own.
  const running = Array.from({ length: 4 }, (_, index) => call(`s${index}`, 'acme', 'ada').catch(() => 'ended'))
  await expect(call('s4', 'acme', 'ada')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  running.push(...Array.from({ length: 4 }, (_, index) => call(`a${index % 2}`, 'acme').catch(() => 'ended')))
  await expect(call('a', 'acme')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  running.push(...Array.from({ length: 8 }, (_, index) => call(`b${index}`, 'globex').catch(() => 'ended')))
  await expect(call('c', 'initech')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(connections.size).toBe(16)
  cancel.abort()
  expect(new Set(await Promise.all(running))).toEqual(new Set(['ended']))
})
