import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test, vi } from 'vitest'
import { basisOf } from '../../app/callers/users.ts'
import { systemClock } from '../../core/clock.ts'
import type { Decision } from '../../core/storage/pause-store.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import type { ModelRequest } from '../../models/model.ts'
import type { GivenTurn } from '../../testing/stand-ins.ts'
import { openScriptedServer, type ScriptedServerOptions } from '../fixtures/open-scripted-server.ts'

const call = { calls: [{ name: 'pay' }] }
const headers = { 'content-type': 'application/json' }
const HOUR_MS = 3_600_000

interface Decided {
  readonly decision?: Decision
  readonly params?: Params
  readonly reason?: string
}

async function openPaying(options: Partial<ScriptedServerOptions> = {}, turns: readonly GivenTurn[] = [call]) {
  const pay = vi.fn((params: unknown) => ({ paid: params }))
  const tools = { pay }
  const definition = { approval: true, parameters: { type: 'object', properties: { amount: { type: 'number' } } } }
  const server = await openScriptedServer([...turns, 'It is paid.'], { tools, definition, ...options })
  const post = async (path: string, body: object, more = {}) => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify(body),
    })
    return { status: response.status, text: await response.text() }
  }
  // A local caller decides on the page or the command line.
  const decide = async (id: string, { decision = 'approve', params, reason }: Decided) => {
    const { clock, storage } = server.installation
    const by = { decided_by: 'local', decided_by_name: 'local', decided_at: clock.wall() }
    const given = {
      decision,
      decided_params: params ?? null,
      reason: reason ?? null,
      ...by,
      expires_at: clock.wall() + 99_999,
    }
    expect(await storage.pauses.decide('local', id, given)).toBe(true)
  }
  const stored = (id: string) => server.installation.storage.durableRuns.get('local', id)
  const ended = async (id: string) => {
    await vi.waitFor(async () => expect((await stored(id))?.status).toBe('finished'), { timeout: 30_000 })
    const run = await stored(id)
    return run && server.installation.durableRuns.answerOf(run)
  }
  const redefine = (more: Partial<ToolDefinition>) =>
    server.installation.manager.getRegistry().register({
      ...{ name: 'pay', description: 'Pays', implementation: { type: 'internal', handler: 'pay' } },
      ...{ ...definition, ...more },
    })
  return { ...server, pay, post, decide, stored, ended, redefine }
}

const approvals = [
  {
    id: expect.any(String),
    tool: 'pay',
    params: {},
    requested_at: expect.stringMatching(/Z$/),
    expires_at: expect.stringMatching(/Z$/),
  },
]

test.each([
  ['/chat', { message: 'Pay' }],
  ['/api/tools/test', { model: 'scripted:turns', query: 'Pay' }],
])('%s waits for the approval of a call, and the run goes on when it is decided', async (path, body) => {
  let later = 0
  const clock = { ...systemClock, wall: () => Date.now() + later }
  const { post, model, pay, decide, ended, stored, url } = await openPaying({ clock })
  const { status, text } = await post(path, body)
  const answer = JSON.parse(text)
  expect([status, answer]).toMatchObject([
    200,
    { status: 'waiting', stop_reason: 'approval_required', run_id: expect.any(String), approvals },
  ])
  expect([pay.mock.calls, model.requests.length]).toEqual([[], 1])
  expect((await stored(answer.run_id))?.status).toBe('waiting')
  const shown = async () => (await fetch(`${url}/api/runs/${answer.run_id}`)).json()
  const { started_at } = (await shown()) as { started_at: string }
  later = 3_600_000
  await decide(answer.approvals[0].id, { decision: 'approve', params: { amount: 2 } })
  const last = await ended(answer.run_id)
  expect(last).toMatchObject({ content: 'It is paid.', tool_calls: [{ result: { result: { paid: { amount: 2 } } } }] })
  expect([pay.mock.calls.length, model.requests.length]).toEqual([1, 2])
  // The record begins with the run, not with its continuation.
  await vi.waitFor(async () => expect(await shown()).toMatchObject({ answer: 'It is paid.', status: 'finished' }))
  const record = (await shown()) as { started_at: string; duration_ms: number }
  expect([record.started_at, record.duration_ms >= 3_600_000]).toEqual([started_at, true])
})

test('asks before each write of a test that wants it, also after the run was continued', async () => {
  const { post, pay, ended, installation, redefine } = await openPaying({}, [call, { calls: [{ name: 'pay' }] }])
  redefine({ approval: false })
  const local = { id: 'local', name: 'local', source: 'rest' } as const
  const allow = (id: string) => installation.approvals.decide('local', id, { decision: 'approve' }, local)
  const test = { model: 'scripted:turns', query: 'Pay twice', ask_writes: true }
  const { run_id, approvals: asked } = JSON.parse((await post('/api/tools/test', test)).text)
  expect([asked, pay.mock.calls.length]).toEqual([approvals, 0])
  await allow(asked[0].id)
  const next = await vi.waitFor(async () => {
    const { pauses } = await installation.storage.pauses.list({ tenant: 'local', status: 'pending', now: 0, limit: 9 })
    expect(pauses).toMatchObject([{ tool: 'pay', run_id }])
    return pauses[0]?.id ?? ''
  })
  expect(pay).toHaveBeenCalledTimes(1)
  await allow(next)
  expect(await ended(run_id)).toMatchObject({ content: 'It is paid.' })
  expect(pay).toHaveBeenCalledTimes(2)
})

test('a key that may approve decides about the writes of its own tests, of tools without a rule', async () => {
  const { post, pay, ended, redefine, key } = await openPaying({}, [call, 'Paid.', call, call])
  const [admin, user] = [await key('local'), await key('local', 'user')]
  const ask = async (from: string) => {
    const test = { model: 'scripted:turns', query: 'Pay', ask_writes: true }
    const { status, text } = await post('/api/tools/test', test, { 'x-api-key': from })
    expect([status, text]).toEqual([200, expect.stringContaining('approval_required')])
    return JSON.parse(text)
  }
  const allow = async ({ approvals: [asked] }: { approvals: { id: string }[] }, from: string) =>
    (await post(`/api/approvals/${asked?.id}`, { decision: 'approve' }, { 'x-api-key': from })).status
  redefine({ approval: false })
  const own = await ask(admin)
  expect(await allow(own, admin)).toBe(200)
  await ended(own.run_id)
  expect(pay).toHaveBeenCalledTimes(1)
  expect(await allow(await ask(user), user)).toBe(403)
  redefine({ approval: true })
  expect(await allow(await ask(admin), admin)).toBe(403)
  expect(pay).toHaveBeenCalledTimes(1)
})

test('a read, and a write of a test that does not ask, run at once', async () => {
  const { post, pay, redefine } = await openPaying({}, [call, 'Paid.', call])
  redefine({ approval: false })
  const test = { model: 'scripted:turns', query: 'Pay' }
  expect(JSON.parse((await post('/api/tools/test', test)).text)).toMatchObject({ stop_reason: 'stop' })
  redefine({ approval: false, effect: 'read' })
  expect(JSON.parse((await post('/api/tools/test', { ...test, ask_writes: true })).text)).toMatchObject({
    stop_reason: 'stop',
  })
  expect(pay).toHaveBeenCalledTimes(2)
})

test('asks before an agent of another server, which asks nobody here', async () => {
  const { post, redefine } = await openPaying({}, [call, 'Paid.'])
  const implementation = { type: 'agent', model: 'a:b', url: 'https://agents.invalid/v1' }
  redefine({
    approval: false,
    implementation,
    parameters: { type: 'object', properties: { task: { type: 'string' } } },
  })
  const test = { model: 'scripted:turns', query: 'Pay', ask_writes: true }
  expect(JSON.parse((await post('/api/tools/test', test)).text)).toMatchObject({ stop_reason: 'approval_required' })
})

test('/v1/chat/completions answers a waiting run with a sentence', async () => {
  const { post } = await openPaying()
  const { text } = await post('/v1/chat/completions', {
    model: 'scripted:turns',
    messages: [{ role: 'user', content: 'Pay' }],
  })
  expect(JSON.parse(text)).toMatchObject({
    choices: [{ finish_reason: 'stop', message: { content: expect.stringContaining('approval') } }],
    toolyard: { status: 'waiting', stop_reason: 'approval_required', run_id: expect.any(String), approvals },
  })
})

test('the model is told about a rejected call, with the reason, and about an expired one', async () => {
  let later = 0
  const clock = { ...systemClock, wall: () => Date.now() + later }
  const two = {
    calls: [
      { name: 'pay', arguments: { amount: 1 } },
      { name: 'pay', arguments: { amount: 2 } },
    ],
  }
  const { post, decide, ended, model, pay, installation } = await openPaying({ clock }, [two])
  const { run_id, approvals } = JSON.parse((await post('/chat', { message: 'Pay' })).text)
  expect(approvals).toHaveLength(2)
  await decide(approvals[0].id, { decision: 'reject', reason: 'Not this month' })
  expect((await installation.storage.durableRuns.due(clock.wall(), 9)).length).toBe(0)
  later = 86_400_000
  installation.durableRuns.wake()
  await ended(run_id)
  expect(pay).not.toHaveBeenCalled()
  const told = model.requests[1]?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []))
  expect(told).toEqual([
    expect.stringContaining('was rejected: Not this month'),
    expect.stringContaining('has expired'),
  ])
})

test('a rejected call does not run if its tool needs no approval any more', async () => {
  const { post, decide, ended, pay, redefine } = await openPaying()
  const { run_id, approvals } = JSON.parse((await post('/chat', { message: 'Pay' })).text)
  redefine({ approval: false })
  await decide(approvals[0].id, { decision: 'reject', reason: 'No' })
  const answer = await ended(run_id)
  expect(answer?.tool_calls).toMatchObject([{ result: { error_code: 'PERMISSION_DENIED' } }])
  expect(pay).not.toHaveBeenCalled()
})

test('a direct call that names an approval respects it, too, if its tool needs none any more', async () => {
  const { post, decide, pay, redefine } = await openPaying()
  const execute = async (amount: number, approval_id?: string) =>
    JSON.parse((await post('/tools/execute', { tool_name: 'pay', params: { amount }, approval_id })).text)
  const [rejected, approved] = [await execute(1), await execute(2)].map(({ details }) => details.approval.id)
  await decide(rejected, { decision: 'reject' })
  await decide(approved, {})
  redefine({ approval: false })
  expect((await execute(1, rejected)).error_code).toBe('PERMISSION_DENIED')
  for (let times = 0; times < 2; times++) expect((await execute(2, approved)).success).toBe(true)
  expect(pay).toHaveBeenCalledTimes(1)
  expect((await execute(1)).success).toBe(true)
})

test('a run that was encrypted with another key waits for that key', async () => {
  const { post, decide, stored, folder, installation, log } = await openPaying()
  const { run_id, approvals } = JSON.parse((await post('/chat', { message: 'Pay' })).text)
  const database = new DatabaseSync(join(folder, 'toolyard.db'), { timeout: 10_000 })
  database.prepare("UPDATE durable_runs SET request = 'sealed.another.key'").run()
  database.close()
  const problems = () => log.lines.filter(({ message }) => message === 'A run cannot be continued')
  await decide(approvals[0].id, {})
  await vi.waitFor(async () => expect(await installation.storage.durableRuns.owned()).toEqual([]))
  await vi.waitFor(() => expect(problems()).toHaveLength(1))
  await vi.waitFor(async () =>
    expect(await installation.storage.durableRuns.due(Date.now(), 9)).toMatchObject([{ id: run_id }]),
  )
  expect(await stored(run_id)).toMatchObject({ status: 'running', resumes: 0 })
})

test('a run of a user goes on if it was approved before the sign-in ended, and fails if it waits longer', async () => {
  let later = 0
  const clock = { ...systemClock, wall: () => Date.now() + later }
  const oidc = {
    ...{ issuer: 'https://login.example.com', audience: 'a', client_id: 'c', tenant_claim: 't', role_claim: 'r' },
    roles: { staff: 'user' },
  }
  const { installation, model, pay } = await openPaying({ clock, config: { auth: { oidc } } }, [call, call])
  const { callers, storage, durableRuns } = installation
  const user = {
    tenant: 'acme',
    subject: 'ada',
    name: 'Ada',
    role: 'user',
    basis: basisOf(oidc, 'staff'),
    issued_at: 1,
  }
  const ada = await callers.signIn(user, Number.POSITIVE_INFINITY, async () => {})
  if (ada === undefined) throw new Error('Ada is not signed in')
  const wait = async (runId: string) => {
    const context = { ...callers.context(ada, 'rest'), runId }
    await Array.fromAsync(durableRuns.pausing({ model, messages: [{ role: 'user', content: 'Pay' }], context }))
  }
  await wait('soon')
  await wait('late')
  const start = Date.now()
  later = 14 * HOUR_MS
  const decide = async (run: string, decided_at: number) => {
    const { pauses } = await storage.pauses.list({ tenant: 'acme', now: start, limit: 9 })
    const { id = '' } = pauses.find(({ run_id }) => run_id === run) ?? {}
    const by = { decided_by: 'olga', decided_by_name: 'olga', decided_at, reason: null, decided_params: null }
    const decision = { ...by, decision: 'approve', expires_at: start + 48 * HOUR_MS } as const
    expect(await storage.pauses.decide('acme', id, decision)).toBe(true)
  }
  const ends = async (id: string, status: string) => {
    const stored = () => storage.durableRuns.get('acme', id)
    await vi.waitFor(async () => expect((await stored())?.status).toBe(status), { timeout: 30_000 })
    const run = await stored()
    return run && durableRuns.answerOf(run)
  }
  await decide('soon', start + HOUR_MS)
  expect(await ends('soon', 'finished')).toMatchObject({ content: 'It is paid.' })
  await decide('late', start + later)
  expect((await ends('late', 'failed'))?.error).toContain('the sign-in of its user has ended')
  expect(pay).toHaveBeenCalledTimes(1)
})

test('/chat refuses a requested call that needs approval, and asks no model', async () => {
  const { post, model, pay } = await openPaying({}, [])
  const { status, text } = await post('/chat', { message: 'Pay', tool_name: 'pay', tool_params: {} })
  expect([status, JSON.parse(text)]).toEqual([
    403,
    expect.objectContaining({ error_code: 'APPROVAL_REQUIRED', details: { approval: expect.anything() } }),
  ])
  expect([pay.mock.calls, model.requests]).toEqual([[], []])
})

describe('a durable run', () => {
  const ask = { message: 'Go', durable: true }
  const completion = { model: 'scripted:turns', messages: [{ role: 'user', content: 'Go' }] }

  test('is answered as any other, stored step by step, and shown with its status', async () => {
    const { post, url, stored } = await openPaying({ definition: {} })
    const { status, text } = await post('/chat', ask)
    const { run_id, content } = JSON.parse(text)
    expect([status, content]).toEqual([200, 'It is paid.'])
    expect(await stored(run_id)).toMatchObject({ status: 'finished', resumes: 0 })
    const shown = await (await fetch(`${url}/api/runs/${run_id}`)).json()
    expect(shown).toMatchObject({ status: 'finished', steps: [{ type: 'model' }, { tool: 'pay' }, { type: 'model' }] })
  })

  test('is started once by an idempotency key', async () => {
    const { post, model, ended } = await openPaying({ definition: {} })
    const headers = { 'idempotency-key': 'k', prefer: 'respond-async' }
    const first = await post('/chat', ask, headers)
    const { run_id } = JSON.parse(first.text)
    expect([first.status, JSON.parse(first.text)]).toEqual([202, { run_id, status: 'running' }])
    await ended(run_id)
    const again = await post('/chat', ask, headers)
    expect([again.status, JSON.parse(again.text)]).toMatchObject([200, { run_id, content: 'It is paid.' }])
    expect((await post('/chat', { ...ask, message: 'Other' }, headers)).status).toBe(400)
    expect(model.requests).toHaveLength(2)
  })

  test.each([
    ['/chat', ask, {}, 202],
    ['/chat', ask, { accept: 'text/event-stream' }, 202],
    ['/v1/chat/completions', completion, { 'toolyard-durable': 'true' }, 409],
    ['/v1/chat/completions', completion, { 'toolyard-durable': 'true', prefer: 'respond-async' }, 202],
  ])(
    'is found by a request with the same key that comes at the same time: %s %j %j',
    async (path, body, more, works) => {
      const released = Promise.withResolvers<string>()
      const { post, model, installation, ended } = await openPaying({ definition: {} }, [() => released.promise])
      const key = { 'idempotency-key': 'k', ...more }
      const first = post(path, body, key)
      await vi.waitFor(() => expect(model.requests).toHaveLength(1), { timeout: 30_000 })
      const [id = ''] = await installation.storage.durableRuns.owned()
      // As if both had looked for the run before one of them started it.
      const unaware = () => vi.spyOn(installation.storage.durableRuns, 'get').mockResolvedValueOnce(undefined)
      unaware()
      const second = await post(path, body, key)
      expect([second.status, second.text]).toEqual([works, expect.stringContaining(id)])
      released.resolve('Done.')
      await first
      await ended(id)
      unaware()
      const third = await post(path, body, key)
      expect([third.status, third.text]).toEqual([200, expect.stringContaining('Done.')])
      expect(model.requests).toHaveLength(1)
    },
  )

  test('whose start was refused runs its requested call once when it is started again with the same key', async () => {
    const config = { limits: { durable_runs: 1 } }
    const { post, pay, installation } = await openPaying({ definition: {}, config }, [])
    const { durableRuns } = installation.storage
    const other = { id: 'other', tenant: 'local', caller: '', model: 'm', fingerprint: '', request: '', created_at: 1 }
    await durableRuns.create(other)
    const request = { ...ask, tool_name: 'pay', tool_params: {} }
    const again = () => post('/chat', request, { 'idempotency-key': 'k' })
    expect([(await again()).status, pay.mock.calls.length]).toEqual([429, 1])
    await durableRuns.cancel('local', 'other', 2)
    const { status, text } = await again()
    expect([status, pay.mock.calls.length]).toEqual([200, 1])
    expect(JSON.parse(text)).toMatchObject({
      content: 'It is paid.',
      tool_calls: [{ result: { result: { paid: {} } } }],
    })
  })

  test('that waits shows its steps, and can be cancelled', async () => {
    const { post, url, pay, installation } = await openPaying()
    const { run_id, approvals } = JSON.parse((await post('/chat', ask)).text)
    const shown = (await (await fetch(`${url}/api/runs/${run_id}`)).json()) as { started_at: string }
    expect(shown).toMatchObject({ status: 'waiting', steps: [{ type: 'model' }, { tool: 'pay' }] })
    const cancel = async () => (await fetch(`${url}/api/runs/${run_id}`, { method: 'DELETE' })).json()
    expect([await cancel(), await cancel()]).toEqual(Array(2).fill({ id: run_id, status: 'cancelled' }))
    const pause = await installation.storage.pauses.get('local', approvals[0].id)
    expect(pause?.expires_at).toBeLessThanOrEqual(Date.now())
    expect(pay).not.toHaveBeenCalled()
    const { runs } = (await (await fetch(`${url}/api/runs`)).json()) as { runs: object[] }
    expect(runs).toMatchObject([
      {
        id: run_id,
        stop_reason: 'cancelled',
        question: 'Go',
        iterations: 1,
        tool_calls: 1,
        started_at: shown.started_at,
      },
    ])
  })

  test('belongs to the key that started it, and ends with that key', async () => {
    const asked = Promise.withResolvers<void>()
    const never = (request: ModelRequest) => {
      asked.resolve()
      return new Promise<string>((_, reject) => request.signal?.addEventListener('abort', () => reject(new Error())))
    }
    const { url, key, post, installation } = await openPaying({ definition: {} }, [never])
    const keys = { own: await key('acme', 'user'), other: await key('acme', 'user'), observer: await key('acme') }
    const { text } = await post('/chat', ask, { 'x-api-key': keys.own, prefer: 'respond-async' })
    const path = `${url}/api/runs/${JSON.parse(text).run_id}`
    await asked.promise
    const see = async (name: keyof typeof keys, method = 'GET') => {
      const response = await fetch(path, { method, headers: { 'x-api-key': keys[name] } })
      const { status } = (await response.json()) as { status?: string }
      return [response.status, status]
    }
    expect(await see('own')).toEqual([200, 'running'])
    expect(await see('observer')).toEqual([200, 'running'])
    expect([await see('other'), await see('other', 'DELETE')]).toEqual(Array(2).fill([404, 404]))
    const { callers, storage } = installation
    const [{ id: own = '' } = {}] = (await storage.keys.list()).filter(({ id }) => callers.find(keys.own)?.id === id)
    await storage.keys.revoke(own, new Date().toISOString())
    await callers.load(storage.keys)
    await vi.waitFor(async () => expect(await see('observer')).toEqual([200, 'failed']))
    expect((await storage.durableRuns.get('acme', JSON.parse(text).run_id))?.ended_at).toBeGreaterThan(0)
  })

  test('is followed as a stream of events, which goes on after the last one that the client got', async () => {
    const { url, key, post } = await openPaying()
    const keys = { own: await key('acme', 'user'), observer: await key('acme'), other: await key('acme', 'user') }
    const { run_id, approvals } = JSON.parse((await post('/chat', ask, { 'x-api-key': keys.own })).text)
    const follow = async (name: keyof typeof keys, last?: string, until = /never/) => {
      const headers = { 'x-api-key': keys[name], ...(last !== undefined && { 'last-event-id': last }) }
      const response = await fetch(`${url}/api/runs/${run_id}/events`, { headers })
      let text = ''
      if (response.status === 200) {
        for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          text += chunk
          if (until.test(text)) break
        }
      }
      const events = [...text.matchAll(/event: (\w+)\n(?:id: (\w+)\n)?data: (.*)\n\n/g)]
      return {
        status: response.status,
        events: events.map(([, event, id]) => [event, id]),
        data: events.map(([, , , data = '']) => JSON.parse(data)),
      }
    }
    const first = await follow('own', undefined, /waiting/)
    expect(first.events).toEqual([
      ['model', '1'],
      ['tool', '2'],
      ['waiting', undefined],
    ])
    expect(first.data.at(-1)).toMatchObject({ run_id, status: 'waiting', approvals: [{ tool: 'pay' }] })
    const rest = follow('own', '2', /event: end/)
    await post(`/api/approvals/${approvals[0].id}`, { decision: 'approve' }, { 'x-api-key': keys.observer })
    const { events, data } = await rest
    expect(events.filter(([event]) => event !== 'waiting' && event !== 'running')).toEqual([
      ['tool', '3'],
      ['end', 'end'],
    ])
    expect(data.at(-1)).toMatchObject({ run_id, status: 'finished', content: 'It is paid.' })
    const observed = await follow('observer', '1')
    expect(observed.events.map(([, id]) => id)).toEqual(['2', '3', 'end'])
    expect(observed.data.at(-1)).toEqual({ run_id, status: 'finished' })
    const statuses = [await follow('own', 'end'), await follow('own', 'x'), await follow('other')]
    expect(statuses.map(({ status }) => status)).toEqual([204, 400, 404])
  })

  test('is started by a header on /v1/chat/completions, once for an idempotency key', async () => {
    const { post, stored, model } = await openPaying({ definition: {} })
    const question = { model: 'scripted:turns', messages: [{ role: 'user', content: 'Pay' }] }
    const durable = { 'toolyard-durable': 'true', 'idempotency-key': 'k' }
    const first = JSON.parse((await post('/v1/chat/completions', question, durable)).text)
    expect(first.choices).toMatchObject([{ finish_reason: 'stop', message: { content: 'It is paid.' } }])
    expect(await stored(first.id.replace('chatcmpl-', ''))).toMatchObject({ status: 'finished' })
    const again = await post('/v1/chat/completions', { ...question }, durable)
    expect(JSON.parse(again.text).choices).toEqual(first.choices)
    const streamed = await post('/v1/chat/completions', { ...question, stream: true }, durable)
    expect([streamed.status, model.requests.length]).toEqual([400, 2])
  })

  test('is refused if its tenant has as many as it may', async () => {
    const { post } = await openPaying({ config: { limits: { durable_runs: 1 } } })
    const waiting = JSON.parse((await post('/chat', ask)).text)
    expect(waiting.status).toBe('waiting')
    const { status, text } = await post('/chat', ask)
    expect([status, text]).toEqual([429, expect.stringContaining('durable_runs')])
    const v1 = { model: 'scripted:turns', messages: [{ role: 'user', content: 'Pay' }] }
    expect((await post('/v1/chat/completions', v1, { 'toolyard-durable': 'true' })).status).toBe(429)
  })
})
