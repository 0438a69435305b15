import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { ModelRequest } from '../../models/model.ts'
import type { GivenTurn } from '../../testing/stand-ins.ts'
import { openScriptedServer, type ScriptedServerOptions } from '../fixtures/open-scripted-server.ts'
import { readEvents } from '../fixtures/read-events.ts'
import type { KnownSuite, SuiteEstimate, SuiteRunView } from '../http/views.ts'

const MODEL = 'scripted:turns'
const REQUEST = { models: [MODEL], suites: ['weather.json'] }
const SUITE = {
  name: 'weather',
  cases: [
    { id: 'paris', query: 'Paris?', expect: { calls: [{ tool: 'look', params: { at: 'Paris' } }] } },
    { id: 'rome', query: 'Rome?', expect: { calls: [{ tool: 'look', params: { at: 'Rome' } }] } },
    { id: 'thanks', query: 'Thanks!', expect: { no_call: true } },
  ],
}
const PARAMETERS = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }

const asked = ({ messages }: ModelRequest): string => String(messages.findLast(({ role }) => role === 'user')?.content)

/** Looks at Paris, whatever the city, and thanks nobody. */
const stubborn: GivenTurn = (request) =>
  asked(request) === 'Thanks!'
    ? { text: 'You are welcome.', usage: USAGE }
    : { calls: [{ name: 'look', arguments: { at: 'Paris' } }], usage: USAGE }
const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 }

async function serve(turn: GivenTurn = stubborn, options: ScriptedServerOptions = {}) {
  const turns = Array.from({ length: 100 }, () => turn)
  const server = await openScriptedServer(turns, {
    tools: { look: async () => 'a view' },
    definition: { parameters: PARAMETERS },
    ...options,
  })
  await mkdir(join(server.folder, 'suites'))
  await writeFile(join(server.folder, 'suites', 'weather.json'), JSON.stringify(SUITE))
  const ask = async <T>(method: string, path: string, body?: unknown, key?: string) => {
    const response = await fetch(server.url + path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'x-api-key': key }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as T & { error?: string }, response }
  }
  const followed = async (id: string) => {
    const headers = { accept: 'text/event-stream' }
    const events = await Array.fromAsync(
      readEvents(await fetch(`${server.url}/api/validations/runs/${id}`, { headers })),
    )
    return { events, view: events.at(-1)?.data as SuiteRunView }
  }
  return { ...server, ask, followed }
}

/** A model that answers only when it is released or cancelled. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const turn: GivenTurn = async (request) => {
    await Promise.race([
      promise,
      new Promise((_, reject) => request.signal?.addEventListener('abort', () => reject(request.signal?.reason))),
    ])
    return 'No idea.'
  }
  return { turn, release: resolve }
}

describe('the suites', () => {
  test('lists the generated suite and the suite files; an invalid file has a problem', async () => {
    const { ask, folder } = await serve()
    await writeFile(join(folder, 'suites', 'broken.json'), '{"cases": [{"query": "Hi", "expect": {}}]}')
    await writeFile(join(folder, 'suites', 'notes.txt'), 'no suite')
    const { body } = await ask<{ suites: KnownSuite[] }>('GET', '/api/suites')
    const files = body.suites.filter(({ kind }) => kind !== 'bfcl')
    expect(files).toEqual([
      { id: 'generated', kind: 'generated', name: 'generated' },
      { id: 'broken.json', kind: 'file', name: 'broken.json', problem: expect.stringContaining('broken.json:1') },
      { id: 'weather.json', kind: 'file', name: 'weather', cases: 3 },
    ])
    expect(body).toMatchObject({ folder: { name: 'suites', writable: true } })
    expect(JSON.stringify(body)).not.toContain(folder)
  })
})

describe('an estimate', () => {
  test('estimates the cost of a run without calling a model', async () => {
    const { ask, model } = await serve(stubborn, { prices: { input: 2, output: 10 } })
    const { body } = await ask<SuiteEstimate>('POST', '/api/validations/estimate', { ...REQUEST, repeat: 2 })
    expect(body).toMatchObject({
      trials: 6,
      made_before: 0,
      free: false,
      unpriced: [],
      most: { cost: 1, tokens: null },
    })
    expect(body.tokens).toBeGreaterThan(600)
    expect(body.cost).toBeGreaterThan(0)
    expect(model.requests).toEqual([])
  })

  test('lists models without a price, and the token limit for them', async () => {
    const { ask } = await serve()
    const { body } = await ask<SuiteEstimate>('POST', '/api/validations/estimate', REQUEST)
    expect(body).toMatchObject({ cost: null, free: false, unpriced: [MODEL], most: { cost: 1, tokens: 2_000_000 } })
  })
})

describe('a run of suites', () => {
  test('streams its progress, records its trials, and reports expected and actual calls', async () => {
    const { ask, followed, model } = await serve(stubborn, { prices: { input: 2, output: 10 } })
    const started = await ask<SuiteRunView>('POST', '/api/validations/runs', REQUEST)
    expect(started).toMatchObject({ status: 202, body: { state: 'queued', request: REQUEST } })
    expect(started.response.headers.get('location')).toBe(`/api/validations/runs/${started.body.id}`)
    const { events, view } = await followed(started.body.id)
    expect(events.at(-1)?.event).toBe('result')
    expect(new Set(model.requests.map(({ tenant }) => tenant))).toEqual(new Set(['local']))
    const counts = { id: MODEL, trials: 3, passed: 2, failed: 1, not_answered: 0 }
    expect(events.at(-2)).toMatchObject({
      event: 'progress',
      data: { trials: 3, made: 3, tokens: 3_300, models: [counts] },
    })
    expect(events.at(-2)).toMatchObject({ data: { cost: expect.closeTo(0.009) } })
    expect(view).toMatchObject({ state: 'done', error: null, report: { complete: true } })
    const failed = view.report?.trials.find(({ outcome }) => outcome === 'failed')
    expect(failed).toMatchObject({
      case: 'rome',
      kind: 'wrong_value',
      message: 'look: at is "Paris", expected "Rome".',
      expectation: { calls: [{ tool: 'look', params: { at: 'Rome' } }] },
      turns: [{ calls: [{ tool: 'look', params: { at: 'Paris' } }] }],
    })
    const { body: list } = await ask('GET', '/api/models/list')
    expect(list).toMatchObject({ models: [{ validation: { test_count: 3, success_count: 2, validated: false } }] })
    const { body: uses } = await ask('GET', '/api/validations/tools')
    expect(uses).toMatchObject({ tool_use: [{ tool: 'look', suite: { trials: 3, successes: 2 } }] })
    const { body: all } = await ask<{ runs: SuiteRunView[] }>('GET', '/api/validations/runs')
    expect(all.runs).toMatchObject([{ id: started.body.id, state: 'done', progress: { made: 3 } }])
    expect(all.runs[0]).not.toHaveProperty('report')
  })

  test('is the only one of its tenant, can be cancelled, and continues afterwards', async () => {
    const { turn, release } = held()
    let first = true
    const { ask, followed } = await serve((request) => {
      if (asked(request) === 'Thanks!') return 'Welcome.'
      if (typeof turn !== 'function' || !first)
        return { calls: [{ name: 'look', arguments: { at: asked(request).slice(0, -1) } }] }
      return turn(request)
    })
    const { body: run } = await ask<SuiteRunView>('POST', '/api/validations/runs', REQUEST)
    await vi.waitFor(async () => {
      const { body } = await ask<SuiteRunView>('GET', `/api/validations/runs/${run.id}`)
      expect(body).toMatchObject({ state: 'running', progress: { made: 1 } })
    })
    const second = await ask('POST', '/api/validations/runs', REQUEST)
    expect(second).toMatchObject({ status: 409, body: { error: expect.stringContaining(run.id) } })
    const { body: ended } = await ask<SuiteRunView>('DELETE', `/api/validations/runs/${run.id}`)
    expect(ended).toMatchObject({ state: 'cancelled', report: { complete: false } })
    expect(ended.report?.trials.map(({ outcome }) => outcome)).toEqual(['not_run', 'not_run', 'passed'])
    first = false
    release()
    const { body: estimate } = await ask<SuiteEstimate>('POST', '/api/validations/estimate', REQUEST)
    expect(estimate).toMatchObject({ trials: 3, made_before: 1 })
    const { body: again } = await ask<SuiteRunView>('POST', '/api/validations/runs', REQUEST)
    const { view } = await followed(again.id)
    expect(view).toMatchObject({ state: 'done', progress: { made_before: 1, made: 2 }, report: { complete: true } })
    const { body: list } = await ask('GET', '/api/models/list')
    expect(list).toMatchObject({ models: [{ validation: { test_count: 3, success_count: 3, validated: true } }] })
  })

  test('asks nothing that its budget does not allow', async () => {
    const { ask, followed, model } = await serve(stubborn, { prices: { input: 2, output: 10 } })
    const { body } = await ask<SuiteRunView>('POST', '/api/validations/runs', { ...REQUEST, budget: 0.0001 })
    const { view } = await followed(body.id)
    expect(model.requests).toEqual([])
    expect(view.report).toMatchObject({ complete: false, models: [{ stopped: { reason: 'budget' } }] })
  })

  test.each([
    ['a suite that there is not', { suites: ['nothing.json'] }, "There is no suite 'nothing.json'"],
    ['a file outside the folder', { suites: ['../toolyard.db'] }, "There is no suite '../toolyard.db'"],
    ['an unknown provider', { models: ['nobody:x'] }, 'Provider nobody not found'],
    ['no models', { models: [] }, 'models'],
    ['too many trials', { suites: ['weather.json'], repeat: 101 }, 'repeat'],
  ])('is refused for %s', async (_, part, sentence) => {
    const { ask, model } = await serve()
    const refused = await ask('POST', '/api/validations/runs', { ...REQUEST, ...part })
    expect(refused).toMatchObject({ status: 400, body: { error: expect.stringContaining(sentence) } })
    expect(model.requests).toEqual([])
  })

  test('is not listed as a tool job, and ends with the server', async () => {
    const { turn } = held()
    const { ask, app, installation } = await serve(turn)
    const { body: run } = await ask<SuiteRunView>('POST', '/api/validations/runs', REQUEST)
    expect((await ask('GET', `/api/jobs/${run.id}`)).status).toBe(404)
    expect((await ask('DELETE', `/api/jobs/${run.id}`)).status).toBe(404)
    expect((await ask<{ jobs: [] }>('GET', '/api/jobs')).body.jobs).toEqual([])
    await app.jobs.close(0)
    const stored = await installation.storage.jobs.get('local', run.id)
    expect(stored?.ended_at).not.toBeNull()
  })

  test('is not restarted after its server crashed', async () => {
    const { ask, app, installation, model } = await serve()
    const { jobs } = installation.storage
    const job = {
      id: 'left',
      tenant: 'local',
      caller: null,
      tool: 'toolyard/suites',
      params: REQUEST,
      timeout_ms: 9_000,
    }
    await app.jobs.close(0)
    await jobs.create({ ...job, created_at: new Date().toISOString() })
    await jobs.take('left', new Date().toISOString())
    expect(await jobs.get('local', 'left')).toMatchObject({ state: 'running', attempts: 1 })
    const { JobRun } = await import('../jobs/job-run.ts')
    const { suiteTask } = await import('./suite-runs.ts')
    const taken = await jobs.get('local', 'left')
    if (taken === undefined) throw new Error('It is not there')
    await new JobRun({ ...taken, attempts: 2 }, installation, suiteTask(installation)).done
    const { body } = await ask<SuiteRunView>('GET', '/api/validations/runs/left')
    expect(body).toMatchObject({ state: 'done', error: expect.stringContaining('Start it again'), report: null })
    expect(model.requests).toEqual([])
  })
})
