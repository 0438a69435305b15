import { expect, test, vi } from 'vitest'
import type { Config } from '../../config/config.ts'
import type { GivenTurn } from '../../testing/stand-ins.ts'
import { currentTool, schemaHash } from '../../validation/tool-use/tool-use.ts'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'
import { readEvents } from '../fixtures/read-events.ts'

const definition = {
  parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false },
}
const call = (n: unknown) => ({ calls: [{ name: 'add', arguments: { n } }] })

/** A server whose tool `add` takes a number. */
async function addingServer(turns: readonly GivenTurn[], validation?: Config['validation']) {
  const responses = [{ llm: 'scripted', model: 'turns', prompt: 'Add.', tools: { enabled: true } }]
  const server = await openScriptedServer(turns, {
    tools: { add: ({ n }) => Number(n) + 1 },
    definition,
    config: { responses, ...(validation && { validation }) },
  })
  const headersOf = (key: string | undefined) => (key === undefined ? {} : { 'x-api-key': key })
  return {
    ...server,
    ask: (key?: string, accept = 'application/json') =>
      fetch(`${server.url}/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept, ...headersOf(key) },
        body: '{"message":"Go"}',
      }),
    get: async (path: string, key?: string) => {
      const response = await fetch(server.url + path, { headers: headersOf(key) })
      // biome-ignore lint/suspicious/noExplicitAny: what it is, the test says.
      return { status: response.status, body: (await response.json()) as any }
    },
  }
}

test('counts tool use per run, and returns failures on request', async () => {
  const { ask, get } = await addingServer([call('one'), call(1), { calls: [{ name: 'plus' }] }, 'Done.'])
  const { run_id } = (await (await ask()).json()) as { run_id: string }
  const { body } = await get('/api/validations/tools')
  const count = { trials: 2, successes: 1, rate: 0.5, lower_bound: expect.closeTo(0.0945, 4) }
  const none = { trials: 0, successes: 0, rate: 0, lower_bound: 0 }
  expect(body).toEqual({
    gate: { gate: 'off', minimum_trials: 10, threshold: 0.8 },
    tool_use: [
      expect.objectContaining({ tool: '(unknown)', schema: 'gone', failure_kinds: { unknown_tool: 1 } }),
      {
        model_id: 'scripted:turns',
        tool: 'add',
        schema_hash: expect.stringMatching(/^[0-9a-f]{16}$/),
        schema: 'current',
        ...count,
        last_used: expect.any(String),
        suite: none,
        run: count,
        failure_kinds: { wrong_type: 1 },
      },
    ],
  })
  const { body: one } = await get('/api/validations/tools?model=scripted:turns&tool=add')
  expect(one.tool_use).toMatchObject([
    { failures: [{ kind: 'wrong_type', source: 'run', run_id, actual: '{"n":"one"}' }] },
  ])
})

test('is separate per tenant, and needs the scope observe', async () => {
  const { ask, get, key } = await addingServer([call(1), 'Done.'])
  const acme = await key('acme')
  await ask(acme)
  expect((await get('/api/validations/tools', acme)).body.tool_use).toHaveLength(1)
  expect((await get('/api/validations/tools', await key('other'))).body.tool_use).toEqual([])
  expect((await get('/api/validations/tools?tenant=acme', await key('other'))).status).toBe(403)
  expect((await get('/api/validations/tools', await key('acme', 'user'))).status).toBe(403)
})

test('a tool that a model fails is hidden from it within seconds on every interface, and stays visible to other models', async () => {
  const turns = [call('one'), call('two'), 'Sorry.', 'Hi.', 'Hi.', 'Hi.']
  const server = await addingServer(turns, { gate: 'hide', minimum_trials: 2 })
  const { ask, get, model, url } = server
  await ask()
  await vi.waitFor(async () => {
    const hidden = (await (await ask()).json()) as { gate?: unknown; run_id: string }
    expect(hidden.gate).toEqual([
      { tool: 'add', decision: 'hide', trials: 2, successes: 0, rate: 0, lower_bound: 0, threshold: 0.8 },
    ])
    expect((await get(`/api/runs/${hidden.run_id}`)).body.gate).toEqual(hidden.gate)
  })
  expect(model.requests[0]?.tools.map(({ name }) => name)).toContain('add')
  expect(model.requests.at(-1)?.tools.map(({ name }) => name)).not.toContain('add')
  const direct = await fetch(`${url}/tools/execute`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tool_name: 'add', params: { n: 1 } }),
  })
  expect(await direct.json()).toMatchObject({ success: true, result: 2 })
})

test('a stream begins with the decisions of the gate', async () => {
  const server = await addingServer(['Hi.'], { gate: 'warn', minimum_trials: 1 })
  const { toolUse, manager } = server.installation
  const add = currentTool(manager.getRegistry())('add')
  if (add === undefined) throw new Error('There is no tool')
  const use = {
    tenant: 'local',
    model: 'scripted:turns',
    tool: 'add',
    schemaHash: schemaHash(add),
    source: 'suite',
  } as const
  const heard = new Promise((resolve) => void server.installation.storage.onChange(resolve))
  toolUse.record({ ...use, outcome: { passed: false, kind: 'wrong_type', message: '' } })
  await toolUse.flush()
  await heard
  // The gate hears of it at the same time, and reads.
  await server.installation.storage.toolUse.list('local')
  await new Promise(setImmediate)
  const response = await server.ask(undefined, 'text/event-stream')
  const { value: first } = await readEvents(response).next()
  expect(first).toMatchObject({ event: 'gate', data: { decisions: [{ tool: 'add', decision: 'warn', trials: 1 }] } })
})

test('a run can be had as a cassette, and as a case', async () => {
  const { ask, get } = await addingServer([call(1), 'It is 2.'])
  const { run_id } = (await (await ask()).json()) as { run_id: string }
  const { body } = await get(`/api/runs/${run_id}/cassette`)
  expect(body).toMatchObject({ cassette: 1, run_id, complete: true, calls: [{ tool: 'add', params: { n: 1 } }] })
  const one = await get(`/api/runs/${run_id}/cassette?as=case`)
  expect(one.body).toMatchObject({
    query: 'Go',
    mocks: { add: 2 },
    expect: { calls: [{ tool: 'add', params: { n: 1 } }] },
  })
  expect((await get('/api/runs/none/cassette')).status).toBe(404)
  expect((await get(`/api/runs/${run_id}/cassette?as=video`)).status).toBe(400)
})
