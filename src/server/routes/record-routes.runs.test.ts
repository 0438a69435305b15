import { expect, test, vi } from 'vitest'
import { nextMilliseconds } from '../fixtures/next-milliseconds.ts'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'

const call = { calls: [{ name: 'note', arguments: { text: 'a' } }] }

async function ask(url: string, message: string, key?: string) {
  const headers = { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) }
  const response = await fetch(`${url}/chat`, { method: 'POST', headers, body: JSON.stringify({ message }) })
  return (await response.json()) as { run_id: string }
}

const get = (url: string, key?: string) =>
  fetch(url, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } })

test('a run is found by its id, with every step', async () => {
  const { url } = await openScriptedServer([call, 'Noted.'], { tools: { note: () => 1 } })
  const { run_id } = await ask(url, 'Take a note')
  const response = await get(`${url}/api/runs/${run_id}`)
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({
    id: run_id,
    tenant: 'local',
    caller: 'local',
    model: 'scripted:turns',
    stop_reason: 'stop',
    question: 'Take a note',
    answer: 'Noted.',
    tool_calls: 1,
    steps: [
      { type: 'model', iteration: 1, finish_reason: 'tool_calls' },
      { type: 'tool', tool: 'note', params: { text: 'a' }, result: { success: true } },
      { type: 'model', iteration: 2, finish_reason: 'stop', text: 'Noted.' },
    ],
  })
})

interface Page {
  readonly runs: readonly { readonly question: string }[]
  readonly next?: string
}

const pageOf = async (url: string): Promise<Page> => (await (await get(url)).json()) as Page
const questionsOf = ({ runs }: Page): string[] => runs.map(({ question }) => question)

test('runs are listed newest first, without steps, page by page', async () => {
  const { url } = await openScriptedServer(['One.', 'Two.', 'Three.'])
  for (const message of ['1', '2', '3']) {
    await ask(url, message)
    await nextMilliseconds()
  }
  const first = await pageOf(`${url}/api/runs?limit=2`)
  expect(questionsOf(first)).toEqual(['3', '2'])
  expect(first.runs[0]).not.toHaveProperty('steps')
  const second = await pageOf(`${url}/api/runs?limit=2&cursor=${encodeURIComponent(first.next ?? '')}`)
  expect(questionsOf(second)).toEqual(['1'])
  expect(second).not.toHaveProperty('next')
})

test('durable runs that wait are listed until they have ended', async () => {
  const { url, model } = await openScriptedServer([call, 'Noted.'], {
    tools: { note: async () => 'noted' },
    definition: { effect: 'write' },
  })
  const body = JSON.stringify({ query: 'Take a note', model: model.id, ask_writes: true })
  const headers = { 'content-type': 'application/json' }
  const asked = await fetch(`${url}/api/tools/test`, { method: 'POST', headers, body })
  const { run_id } = (await asked.json()) as { run_id: string }
  const open = await pageOf(`${url}/api/runs?status=open&model=${model.id}`)
  expect(open.runs).toMatchObject([{ id: run_id, status: 'waiting', question: 'Take a note' }])
  expect(open.runs[0]).not.toHaveProperty('steps')
  expect(await pageOf(`${url}/api/runs`)).toEqual({ runs: [] })
  expect(await pageOf(`${url}/api/runs?status=open&caller=other`)).toEqual({ runs: [] })
  await fetch(`${url}/api/runs/${run_id}`, { method: 'DELETE' })
  expect(await pageOf(`${url}/api/runs?status=open`)).toEqual({ runs: [] })
  expect((await pageOf(`${url}/api/runs`)).runs).toMatchObject([{ id: run_id, stop_reason: 'cancelled' }])
})

test('the oldest runs are removed beyond the quota of the tenant', async () => {
  const { url } = await openScriptedServer(['One.', 'Two.', 'Three.'], { config: { limits: { stored_runs: 2 } } })
  for (const message of ['1', '2', '3']) {
    await ask(url, message)
    await nextMilliseconds()
  }
  await vi.waitFor(async () => expect(questionsOf(await pageOf(`${url}/api/runs`))).toEqual(['3', '2']))
})

test('filters runs by model and stop reason', async () => {
  const { url } = await openScriptedServer(['One.', new Error('boom')])
  for (const message of ['1', '2']) await ask(url, message)
  const questions = async (query: string) => questionsOf(await pageOf(`${url}/api/runs?${query}`))
  expect(await questions('stop_reason=error')).toEqual(['2'])
  expect(await questions('model=scripted:turns&stop_reason=stop')).toEqual(['1'])
  expect(await questions('model=other:m')).toEqual([])
  const unknown = await get(`${url}/api/runs?stop_reason=finished`)
  expect(unknown.status).toBe(400)
  expect(((await unknown.json()) as { error: string }).error).toContain(
    'stop_reason must be one of: stop, max_iterations',
  )
})

test('a tenant sees only its own runs', async () => {
  const { url, key } = await openScriptedServer(['One.'])
  const acme = await key('acme')
  const other = await key('other')
  const { run_id } = await ask(url, 'Hi', acme)
  expect((await get(`${url}/api/runs/${run_id}`, acme)).status).toBe(200)
  const hidden = await get(`${url}/api/runs/${run_id}`, other)
  expect(hidden.status).toBe(404)
  expect(await hidden.json()).toMatchObject({ status: 404, error: `Run '${run_id}' not found` })
  expect(await (await get(`${url}/api/runs`, other)).json()).toEqual({ runs: [] })
})

test('the scope installation needs a tenant name to list runs', async () => {
  const { url, key } = await openScriptedServer(['One.'])
  const acme = await key('acme')
  const { run_id } = await ask(url, 'Hi', acme)
  const all = await key('ops', 'admin', ['observe', 'installation'])
  expect(await (await get(`${url}/api/runs?tenant=acme`, all)).json()).toMatchObject({ runs: [{ id: run_id }] })
  expect(await (await get(`${url}/api/runs/${run_id}?tenant=acme`, all)).json()).toMatchObject({ question: 'Hi' })
  expect(await (await get(`${url}/api/runs`, all)).json()).toEqual({ runs: [] })
  expect((await get(`${url}/api/runs?tenant=*`, all)).status).toBe(400)
  expect((await get(`${url}/api/runs?tenant=ops`, acme)).status).toBe(403)
})

test('omits contents that must not be stored', async () => {
  const { url } = await openScriptedServer([call, 'Noted.'], {
    tools: { note: () => 1 },
    config: { storage: { runs: false } },
  })
  const { run_id } = await ask(url, 'Take a note')
  const run = (await (await get(`${url}/api/runs/${run_id}`)).json()) as { steps: unknown[] }
  expect(run).toMatchObject({ question: '', answer: '', steps: [{ tool_calls: 1 }, { tool: 'note' }, {}] })
  expect(run.steps[1]).not.toHaveProperty('params')
})

test('needs a key with the scope observe, except for own runs', async () => {
  const { url, key } = await openScriptedServer([])
  const user = await key('acme', 'user')
  expect((await get(`${url}/api/runs`, user)).status).toBe(403)
  expect((await get(`${url}/api/runs/x`, user)).status).toBe(404)
  expect((await get(`${url}/api/runs/x`, await key('acme', 'admin', ['read']))).status).toBe(403)
})

test('rejects invalid filters', async () => {
  const { url } = await openScriptedServer([])
  for (const query of ['limit=0', 'limit=201', 'limit=many', 'cursor=x', 'page=2']) {
    const response = await get(`${url}/api/runs?${query}`)
    expect(response.status, query).toBe(400)
    expect(response.headers.get('content-type')).toContain('application/problem+json')
  }
})

test('a run is replayed as it was, and with a model that is asked anew; no tool is run', async () => {
  let runs = 0
  const other = { calls: [{ name: 'note', arguments: { text: 'b' } }] }
  const { url, model } = await openScriptedServer([call, 'Noted.', call, 'Done.', other, 'Done.'], {
    tools: { note: () => ++runs },
  })
  const { run_id } = await ask(url, 'Take a note')
  const replay = async (body?: object) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await fetch(`${url}/api/runs/${run_id}/replay`, {
      method: 'POST',
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  }
  expect(await replay()).toMatchObject({ status: 200, body: { same: true, model: null, difference: null } })
  expect(model.requests).toHaveLength(2)
  const same = { same: true, model: 'scripted:turns', answer: { content: 'Done.' } }
  expect((await replay({ model: 'scripted:turns' })).body).toMatchObject(same)
  const { body } = await replay({ model: 'scripted:turns' })
  expect(body).toMatchObject({ same: false, difference: expect.stringContaining('note is called with {"text":"b"}') })
  expect(runs).toBe(1)
  const silent = { same: false, difference: 'One call of the run was not made' }
  expect((await replay({ model: 'scripted:turns' })).body).toMatchObject(silent)
  const failed = { same: false, difference: expect.stringContaining('The script has') }
  expect((await replay({ model: 'scripted:turns' })).body).toMatchObject(failed)
  expect(await replay({ model: 'nobody:x' })).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining('Provider nobody') },
  })
})

test('a model that answers again counts against budgets and the limits of the caller', async () => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 0, total_tokens: 1_000 }
  const turns = [1, 2, 3].map(() => ({ text: 'Hi.', usage }))
  const { url, model, installation } = await openScriptedServer(turns, {
    prices: { input: 1_000, output: 0 },
    config: { budgets: [{ scope: 'tenant', per: 'month', amount: 2 }], limits: { calls_per_minute: 2 } },
  })
  const { run_id } = await ask(url, 'Hello')
  const replay = async (body: object = { model: 'scripted:turns' }) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetch(`${url}/api/runs/${run_id}/replay`, init)
    await installation.sink.flush()
    return { status: response.status, ...((await response.json()) as object) }
  }
  expect(await replay()).toMatchObject({ same: true })
  expect(await replay()).toMatchObject({ same: false, difference: expect.stringContaining('is spent: 2 USD so far') })
  expect(await replay()).toMatchObject({ status: 429 })
  expect(await replay({})).toMatchObject({ same: true })
  expect(model.requests).toHaveLength(2)
})

test('the scope observe alone replays only recorded responses', async () => {
  const { url, key } = await openScriptedServer(['Hi.'], { config: { storage: { payloads: 'all' } } })
  const owner = await key('acme')
  const { run_id } = await ask(url, 'Hello', owner)
  const watcher = await key('acme', 'operator', ['observe'])
  const replay = (body: object) =>
    fetch(`${url}/api/runs/${run_id}/replay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${watcher}` },
      body: JSON.stringify(body),
    })
  expect((await replay({})).status).toBe(200)
  expect((await replay({ model: 'scripted:turns' })).status).toBe(403)
})

test('a run without stored contents cannot be replayed', async () => {
  const { url } = await openScriptedServer(['Hi.'], { config: { storage: { runs: false } } })
  const { run_id } = await ask(url, 'Hello')
  const response = await fetch(`${url}/api/runs/${run_id}/replay`, { method: 'POST' })
  expect(response.status).toBe(409)
})
