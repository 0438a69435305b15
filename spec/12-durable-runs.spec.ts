import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { TextSeal } from '../src/app/durable/sealed-text.ts'
import { systemClock } from '../src/core/clock.ts'
import { silentLog } from '../src/core/log.ts'
import { createToolyard, tool } from '../src/index.ts'
import { openScriptedServer, type ScriptedServerOptions } from '../src/server/fixtures/open-scripted-server.ts'
import { openSqliteEngine } from '../src/storage/sqlite/sqlite-engine.ts'
import { type GivenTurn, ManualClock, scripted } from '../src/testing/stand-ins.ts'
import {
  expectModelAskedOnce,
  expectSameAnswers,
  expectWritesOnce,
  killOnSqlite,
  type Outcome,
  RUNS,
} from '../test/servers/durable-world.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 300_000 })

const DAY_MS = 86_400_000
const call = { calls: [{ name: 'pay', arguments: { amount: 120, password: 'hunter2' } }] }
const question = { message: 'Pay', durable: true }
const completion = { model: 'scripted:turns', messages: [{ role: 'user', content: 'Pay' }] }
const APPROVED = { approval: true } as const

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-spec-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

function rowsOf(folder: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(join(folder, 'toolyard.db'), { readOnly: true })
  try {
    return database.prepare(sql).all()
  } finally {
    database.close()
  }
}

async function open(options: Partial<ScriptedServerOptions> = {}, turns: readonly GivenTurn[] = [call, 'It is paid.']) {
  const pay = vi.fn((params: unknown) => ({ paid: params }))
  const server = await openScriptedServer(turns, { tools: { pay }, ...options })
  const { url, installation, folder } = server
  const send = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(url + path, { method, headers: { ...type, ...headers }, ...text })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const post = async (path: string, body: object, headers = {}) =>
    JSON.parse((await send('POST', path, body, headers)).text)
  const get = async (path: string, headers = {}) => JSON.parse((await send('GET', path, undefined, headers)).text)
  // The local caller decides on the page.
  const decide = (id: string, decision: 'approve' | 'reject', reason?: string) =>
    post(`/api/approvals/${id}`, { decision, ...(reason && { reason }) }, { origin: url })
  const ends = async (id: string, status: string, tenant = 'local') => {
    const stored = () => installation.storage.durableRuns.get(tenant, id)
    await vi.waitFor(async () => expect((await stored())?.status).toBe(status), { timeout: 30_000 })
  }
  const rows = (sql: string) => rowsOf(folder, sql)
  return { ...server, pay, send, post, get, decide, ends, rows }
}

describe('Durable runs', () => {
  test('[12.2-1] With durable: true on /chat and yard.run, or header Toolyard-Durable: true on /v1/chat/completions, every model answer and every call result is stored before the run goes on', async () => {
    const stored: number[] = []
    const noting = (given: string | typeof call) => () => {
      stored.push(rowsOf(server.folder, 'SELECT seq FROM run_steps').length)
      return given
    }
    const server = await open({}, [noting(call), noting('Done.'), noting(call), noting('Done.')])
    await server.post('/chat', question)
    await server.post('/v1/chat/completions', completion, { 'toolyard-durable': 'true' })
    expect(stored).toEqual([0, 2, 2, 4])
    const storage = await newFolder()
    const look = tool({ name: 'pay', description: 'Pays.', input: { type: 'object' }, execute: () => 1 })
    const yard = await createToolyard({ tools: [look], storage })
    onTestFinished(() => yard.close())
    await yard.run({ model: scripted(call, 'Done.'), prompt: 'Pay', durable: true })
    expect(rowsOf(storage, 'SELECT kind FROM run_steps ORDER BY seq')).toEqual([
      { kind: 'answer' },
      { kind: 'results' },
    ])
  })

  test('[12.2-2] A durable run with Prefer: respond-async answers 202 with Location: /api/runs/:id', async () => {
    const { send, ends } = await open()
    const { status, headers, text } = await send('POST', '/chat', { message: 'Pay' }, { prefer: 'respond-async' })
    const { run_id } = JSON.parse(text)
    expect([status, headers.get('location')]).toEqual([202, `/api/runs/${run_id}`])
    await ends(run_id, 'finished')
  })

  describe('after kill -9', () => {
    let outcome: Outcome
    beforeAll(async () => {
      outcome = await killOnSqlite()
    })

    // On PostgreSQL with two servers: test/servers/durable-runs.test.ts, in `npm run test:full`.
    test('[12.2-3] After kill -9 at any point the run continues where it was, on the same server (SQLite) or any (Postgres)', () => {
      expectSameAnswers(outcome)
      expect(outcome.answers).toHaveLength(RUNS.length)
    })

    test('[12.2-4] A stored model answer is never asked for again. One that was not stored when the process died is asked for again and counted', () => {
      expectModelAskedOnce(outcome)
      expect(outcome.count('model 2 asked', 'model 2')).toBe(2)
    })

    test('[12.2-5] No write runs twice. A write whose outcome is not known is reported to the model as such', () => {
      expectWritesOnce(outcome)
      expect(outcome.unknown('pay 2 asked')).toBe(1)
    })
  })

  test('[12.2-6] After 5 resumes without progress the run is failed', async () => {
    const { post, decide, ends, installation, get } = await open({ definition: APPROVED })
    const { run_id, approvals } = await post('/chat', question)
    const database = new DatabaseSync(join(installation.folder, 'toolyard.db'), { timeout: 10_000 })
    database.exec('UPDATE durable_runs SET resumes = 5')
    database.close()
    await decide(approvals[0].id, 'approve')
    await ends(run_id, 'failed')
    expect(await get(`/api/runs/${run_id}`)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('5 times'),
    })
  })

  test('[12.2-7] Time spent waiting for a person does not count against deadlines', async () => {
    let later = 0
    const clock = { ...systemClock, wall: () => Date.now() + later }
    const rule = {
      llm: 'scripted',
      model: 'turns',
      prompt: '',
      tools: { enabled: true },
      budget: { wall_time_ms: 30_000 },
    }
    const { post, decide, ends } = await open({ clock, definition: APPROVED, config: { responses: [rule] } })
    const { run_id, approvals } = await post('/chat', question)
    later = 3_600_000
    await decide(approvals[0].id, 'approve')
    await ends(run_id, 'finished')
  })

  test('[12.2-8] Starting a run takes Idempotency-Key', async () => {
    const { post, model } = await open()
    const key = { 'idempotency-key': 'k' }
    const [first, second] = [await post('/chat', question, key), await post('/chat', question, key)]
    expect([second.run_id, second.content, model.requests.length]).toEqual([first.run_id, first.content, 2])
  })

  test('[12.2-9] GET /api/runs/:id has status: running | waiting | finished | failed | cancelled and the steps', async () => {
    const { post, get, decide, ends } = await open({ definition: APPROVED })
    const { run_id, approvals } = await post('/chat', question)
    const steps = [{ type: 'model' }, { type: 'tool', tool: 'pay' }]
    expect(await get(`/api/runs/${run_id}`)).toMatchObject({ status: 'waiting', steps })
    await decide(approvals[0].id, 'approve')
    await ends(run_id, 'finished')
    expect(await get(`/api/runs/${run_id}`)).toMatchObject({ status: 'finished', steps: [...steps, { type: 'model' }] })
  })

  test('[12.2-10] GET /api/runs/:id/events is SSE and resumes from Last-Event-ID', async () => {
    const { post, send } = await open()
    const { run_id } = await post('/chat', question)
    const events = await send('GET', `/api/runs/${run_id}/events`, undefined, { 'last-event-id': '1' })
    expect(events.headers.get('content-type')).toBe('text/event-stream')
    expect(events.text.match(/^(event|id): .*$/gm)).toEqual(['event: tool', 'id: 2', 'event: end', 'id: end'])
  })

  test('[12.2-11] DELETE /api/runs/:id cancels the run', async () => {
    const { post, send, get, pay } = await open({ definition: APPROVED })
    const { run_id } = await post('/chat', question)
    expect(JSON.parse((await send('DELETE', `/api/runs/${run_id}`)).text)).toEqual({ id: run_id, status: 'cancelled' })
    expect(await get(`/api/runs/${run_id}`)).toMatchObject({ status: 'cancelled', stop_reason: 'cancelled' })
    expect(pay).not.toHaveBeenCalled()
  })

  test('[12.2-12] A caller with chat reads, follows and cancels its own runs, and observe sees those of the tenant, as with jobs', async () => {
    const { post, send, key } = await open({ definition: APPROVED })
    const [own, other, observer] = [await key('acme', 'user'), await key('acme', 'user'), await key('acme', 'operator')]
    const { run_id } = await post('/chat', question, { 'x-api-key': own })
    const status = async (holder: string, method: string, path = '') =>
      (await send(method, `/api/runs/${run_id}${path}`, undefined, { 'x-api-key': holder })).status
    for (const method of ['GET', 'DELETE']) expect(await status(other, method)).toBe(404)
    expect(await status(other, 'GET', '/events')).toBe(404)
    expect([await status(observer, 'GET'), await status(own, 'GET'), await status(own, 'DELETE')]).toEqual([
      200, 200, 200,
    ])
    expect([await status(own, 'GET', '/events'), await status(observer, 'GET', '/events')]).toEqual([200, 200])
  })

  test('[12.2-13] A run that waits for an approval costs nothing: no timer, no open request, any number of them', async () => {
    const timers = new Set<unknown>()
    const after: typeof systemClock.after = (ms, run) => {
      const timer = {}
      timers.add(timer)
      const cancel = systemClock.after(ms, () => {
        timers.delete(timer)
        run()
      })
      return () => {
        timers.delete(timer)
        cancel()
      }
    }
    const { post, installation } = await open(
      { clock: { ...systemClock, after }, definition: APPROVED },
      Array.from({ length: 30 }, () => call),
    )
    const ask = async (count: number) => {
      for (let asked = 0; asked < count; asked++) expect((await post('/chat', question)).status).toBe('waiting')
      await vi.waitFor(async () => expect(await installation.storage.durableRuns.owned()).toEqual([]))
    }
    await ask(5)
    const few = timers.size
    await ask(25)
    expect(timers.size).toBeLessThanOrEqual(few + 5)
  })

  test('[12.2-14] A run that needs an approval becomes durable at that moment', async () => {
    const { post, rows, decide, ends } = await open({ definition: APPROVED }, ['Hello.', call, 'It is paid.'])
    await post('/chat', { message: 'Hello' })
    expect(rows('SELECT id FROM durable_runs')).toEqual([])
    const { run_id, approvals } = await post('/chat', { message: 'Pay' })
    expect(rows('SELECT id, status FROM durable_runs')).toEqual([{ id: run_id, status: 'waiting' }])
    await decide(approvals[0].id, 'approve')
    await ends(run_id, 'finished')
  })

  test('[12.2-15] /chat answers a waiting run with 200, status: "waiting", run_id and approvals', async () => {
    const { send } = await open({ definition: APPROVED })
    const { status, text } = await send('POST', '/chat', { message: 'Pay' })
    expect([status, JSON.parse(text)]).toMatchObject([200, WAITING])
  })

  test('[12.2-16] /v1/chat/completions answers a waiting run with finish_reason: "stop", a sentence as content, and the fields of /chat under toolyard', async () => {
    const { post } = await open({ definition: APPROVED })
    expect(await post('/v1/chat/completions', completion)).toMatchObject({
      choices: [{ finish_reason: 'stop', message: { content: expect.stringMatching(/^I am waiting .*\.$/) } }],
      toolyard: WAITING,
    })
  })

  test('[12.2-17] Streams of a waiting run send these fields and end', async () => {
    const { send } = await open({ definition: APPROVED }, [call, call])
    const chat = await send('POST', '/chat', { message: 'Pay' }, { accept: 'text/event-stream' })
    const [, answer = ''] = chat.text.match(/event: answer\ndata: (.*)\n\n$/) ?? []
    expect(JSON.parse(answer)).toMatchObject(WAITING)
    const { text } = await send('POST', '/v1/chat/completions', { ...completion, stream: true })
    const [last = '', done] = text.trim().split('\n\n').slice(-2)
    expect([JSON.parse(last.slice('data: '.length)).toolyard, done]).toMatchObject([WAITING, 'data: [DONE]'])
  })

  test('[12.2-18] createToolyard writes no file unless storage is set. durable or approval without a store is refused when the instance is created', async () => {
    const [folder, before] = [await newFolder(), process.cwd()]
    process.chdir(folder)
    onTestFinished(() => process.chdir(before))
    const pay = tool({ name: 'pay', description: 'Pays.', input: { type: 'object' }, approval: true, execute: () => 1 })
    await expect(createToolyard({ tools: [pay] })).rejects.toThrow('approvals need a store')
    const yard = await createToolyard({ tools: [] })
    await expect(yard.run({ model: scripted('Hi'), prompt: 'Hi', durable: true })).rejects.toThrow('needs a store')
    await yard.close()
    expect(await readdir(folder)).toEqual([])
    await (await createToolyard({ tools: [pay], storage: join(folder, 'data') })).close()
    expect(await readdir(join(folder, 'data'))).toContain('toolyard.db')
  })

  test('[12.2-19] Resume data (complete, not redacted) is a table of its own: never listed or exported, readable by the continuation only', async () => {
    const { post, send, rows } = await open({ definition: APPROVED })
    const { run_id } = await post('/chat', question)
    expect(JSON.stringify(rows('SELECT data FROM run_steps'))).toContain('hunter2')
    for (const path of [`/api/runs/${run_id}`, '/api/runs', '/audit', '/audit?format=json']) {
      const { status, text } = await send('GET', path)
      expect([path, status, text.includes('hunter2')]).toEqual([path, 200, false])
    }
  })

  test('[12.2-20] Resume data is encrypted with TOOLYARD_ENCRYPTION_KEY if it is set', () => {
    const [seal, other] = [new TextSeal('k'.repeat(43)), new TextSeal('o'.repeat(43))]
    const sealed = seal.seal('{"secret":"hunter2"}', 'run-1')
    expect(sealed).not.toContain('hunter2')
    expect(seal.open(sealed, 'run-1')).toContain('hunter2')
    expect(() => other.open(sealed, 'run-1')).toThrow('TOOLYARD_ENCRYPTION_KEY')
    expect(() => seal.open(sealed, 'run-2')).toThrow('cannot be decrypted')
  })

  test('[12.2-21] Resume data is deleted 24 h after the run ends', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const clock = new ManualClock()
    const options = { folder: await newFolder(), instance: 'one', keepDays: 7 }
    const { durableRuns, close } = await openSqliteEngine(options, { log: silentLog, clock })
    onTestFinished(close)
    const of = { tenant: 'acme', caller: 'k', model: 'm:m', fingerprint: '', request: '{}', created_at: clock.wall() }
    for (const id of ['ended', 'waits']) {
      await durableRuns.create({ id, ...of })
      const status = id === 'ended' ? 'finished' : 'waiting'
      const steps = [{ kind: 'answer', data: '{}', shown: '[]' }]
      await durableRuns.end(id, 1, { status, answer: null, at: clock.wall(), steps })
    }
    const left = async () =>
      [await durableRuns.data('ended'), await durableRuns.data('waits')].map(({ length }) => length)
    const pass = async (ms: number) => {
      clock.advance(ms)
      vi.advanceTimersByTime(60_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await pass(DAY_MS - 1_000)
    expect(await left()).toEqual([1, 1])
    await pass(2_000)
    expect(await left()).toEqual([0, 1])
  })

  test('[12.2-22] /api/runs shows the bounded, redacted record', async () => {
    const { post, get } = await open({}, [call, 'x'.repeat(10_000)])
    const { run_id } = await post('/chat', question)
    const { answer, steps } = await get(`/api/runs/${run_id}`)
    expect([answer.length, JSON.stringify(steps).includes('hunter2')]).toEqual([
      expect.toSatisfy((n) => n <= 2_100),
      false,
    ])
  })
})

const WAITING = {
  status: 'waiting',
  stop_reason: 'approval_required',
  run_id: expect.any(String),
  approvals: [
    {
      id: expect.any(String),
      tool: 'pay',
      params: expect.anything(),
      requested_at: expect.any(String),
      expires_at: expect.any(String),
    },
  ],
}
