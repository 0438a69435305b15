import { describe, expect, test, vi } from 'vitest'
import { blockedHandler, caller, jobSetup } from './fixtures/job-setup.ts'
import type { JobEvent } from './jobs.ts'

const ADA = caller('acme', 'ada')
const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

describe('a job', () => {
  test('is accepted at once and ends with the envelope of its call', async () => {
    const { start, ended } = await jobSetup({ weather: { run: ({ city }) => `rain in ${city}`, parameters: CITY } })
    const job = await start(ADA, { tool_name: 'weather', params: { city: 'Paris' } })
    expect(job).toEqual({
      id: expect.any(String),
      tool_name: 'weather',
      caller: 'ada',
      state: 'queued',
      timeout_ms: 30_000,
      created_at: expect.any(String),
      started_at: null,
      ended_at: null,
      progress: null,
      result: null,
    })
    expect(await ended(ADA, job.id)).toMatchObject({
      state: 'done',
      started_at: expect.any(String),
      result: { success: true, result: 'rain in Paris', tool_name: 'weather', execution_time_ms: expect.any(Number) },
    })
  })

  test('that fails ends with its failure', async () => {
    const { start, ended } = await jobSetup({
      fail: {
        run: () => {
          throw new Error('No such city')
        },
      },
    })
    const { id } = await start(ADA, { tool_name: 'fail', params: {} })
    expect(await ended(ADA, id)).toMatchObject({
      state: 'done',
      result: { success: false, error: 'No such city', error_code: 'EXECUTION_ERROR' },
    })
  })

  test.each([
    ['an unknown tool', 'wether', {}, { error_code: 'TOOL_NOT_FOUND', suggestions: ['weather'] }],
    ['wrong parameters', 'weather', { city: 7 }, { error: 'Invalid parameters: city must be a string' }],
    ['parameters that are no object', 'weather', 'Paris', { error_code: 'INVALID_PARAMETERS' }],
    ['a tool that the tenant may not use', 'secret', {}, { error_code: 'PERMISSION_DENIED' }],
  ])('for %s is refused with the envelope of the call, recorded, and not stored', async (_, tool, params, refusal) => {
    const { jobs, installation } = await jobSetup({
      weather: { run: () => 1, parameters: CITY },
      secret: { run: () => 1, permissions: ['secrets'] },
    })
    const started = await jobs.start(ADA, { tool_name: tool, params })
    expect(started).toMatchObject({ refused: { success: false, tool_name: tool, ...refusal } })
    expect(await jobs.list(caller('acme', 'root', 'admin'), 10)).toEqual([])
    installation.manager.getExecutor().flush()
    await installation.sink.flush()
    const { rows } = await installation.storage.ledger.audit({ tenant: 'acme', limit: 10 })
    expect(rows).toMatchObject([{ tool, source: 'job', caller: 'ada', outcome: 'failure' }])
  })

  test('counts once against the limit of its caller, when it is accepted', async () => {
    const { jobs, start, ended } = await jobSetup({ look: { run: () => 1, effect: 'read' } })
    const limited = { ...ADA, callsPerMinute: 2 }
    const states: number[] = []
    const request = {
      tool_name: 'look',
      params: {},
      onRate: ({ remaining }: { remaining: number }) => states.push(remaining),
    }
    for (let made = 0; made < 2; made++) {
      const { id } = await start(limited, request)
      expect(await ended(limited, id)).toMatchObject({ result: { success: true } })
    }
    expect(await jobs.start(limited, request)).toMatchObject({ refused: { error_code: 'RATE_LIMITED' } })
    expect(states).toEqual([1, 0, 0])
  })

  test('counts against the limit of its session', async () => {
    const config = { limits: { calls_per_session: 1 } }
    const { jobs, start } = await jobSetup({ look: { run: () => 1 } }, { config })
    await start(ADA, { tool_name: 'look', params: {}, session: 's1' })
    const more = await jobs.start(ADA, { tool_name: 'look', params: {}, session: 's1' })
    expect(more).toMatchObject({ refused: { error: expect.stringContaining('A session may make 1 tool calls') } })
  })

  test('is recorded as a call from a job', async () => {
    const { installation, start, ended } = await jobSetup({ look: { run: () => 1 } })
    const { id } = await start(ADA, { tool_name: 'look', params: {} })
    await ended(ADA, id)
    installation.manager.getExecutor().flush()
    await installation.sink.flush()
    const { rows } = await installation.storage.ledger.audit({ tenant: 'acme', limit: 10 })
    expect(rows).toMatchObject([{ tool: 'look', source: 'job', caller: 'ada', outcome: 'success' }])
  })

  test('runs with the flags that its tenant has when it runs', async () => {
    const { installation, jobs, start, ended } = await jobSetup(
      { flags: { run: (_, { flags }) => flags } },
      { work: false, config: { tenants: { acme: { flags: { beta: false } } } } },
    )
    const { id } = await start(ADA, { tool_name: 'flags', params: {} })
    await installation.storage.settings.put({ kind: 'tenant', name: 'acme', value: { flags: { beta: true } } })
    await vi.waitFor(() => expect(installation.tenants.flags('acme')).toEqual({ beta: true }))
    await jobs.work()
    expect(await ended(ADA, id)).toMatchObject({ result: { result: { beta: true } } })
  })
})

describe('time', () => {
  test('is that of the tool unless the job says otherwise, and may be longer than that of a call', async () => {
    const { start } = await jobSetup({ slow: { run: () => 1, timeout_ms: 90_000 } }, { work: false })
    expect(await start(ADA, { tool_name: 'slow', params: {} })).toMatchObject({ timeout_ms: 90_000 })
    expect(await start(ADA, { tool_name: 'slow', params: {}, timeout_ms: 600_000 })).toMatchObject({
      timeout_ms: 600_000,
    })
  })

  test('is limited by the configuration, by default to one hour', async () => {
    const tools = { slow: { run: () => 1, timeout_ms: 90_000_000 } }
    const usual = await jobSetup(tools, { work: false })
    expect(await usual.start(ADA, { tool_name: 'slow', params: {} })).toMatchObject({ timeout_ms: 3_600_000 })
    const config = { limits: { job_timeout_ms: 5_000 } }
    const strict = await jobSetup(tools, { work: false, config })
    expect(await strict.start(ADA, { tool_name: 'slow', params: {}, timeout_ms: 9e9 })).toMatchObject({
      timeout_ms: 5_000,
    })
    expect(await strict.start(ADA, { tool_name: 'slow', params: {}, timeout_ms: 1 })).toMatchObject({
      timeout_ms: 1_000,
    })
  })

  test('runs out while the tool runs, and not while the job waits', async () => {
    const slow = blockedHandler()
    const { jobs, start, ended } = await jobSetup({ slow: { run: slow.run } }, { work: false })
    const { id } = await start(ADA, { tool_name: 'slow', params: {}, timeout_ms: 1_000 })
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    await jobs.work()
    expect(await ended(ADA, id)).toMatchObject({
      state: 'done',
      result: { error_code: 'TIMEOUT', error: 'Tool execution timed out after 1000ms', outcome: 'unknown' },
    })
    expect(slow.calls.map((signal) => signal.aborted)).toEqual([true])
  })

  test('is used to wait for a tool that is busy', async () => {
    const slow = blockedHandler()
    const { start, until, ended } = await jobSetup({ slow: { run: slow.run, max_concurrency: 1 } })
    const first = await start(ADA, { tool_name: 'slow', params: {} })
    await until(ADA, first.id, ({ state }) => state === 'running')
    const second = await start(ADA, { tool_name: 'slow', params: {} })
    await until(ADA, second.id, ({ state }) => state === 'running')
    slow.open('done')
    expect(await ended(ADA, first.id)).toMatchObject({ result: { result: 'done' } })
    expect(await ended(ADA, second.id)).toMatchObject({ result: { result: 'done' } })
  })
})

describe('visibility of a job', () => {
  test('its caller, and the operators and admins of its tenant, can see it', async () => {
    const { jobs, start, ended } = await jobSetup({ look: { run: () => 1 } })
    const { id } = await start(ADA, { tool_name: 'look', params: {} })
    await ended(ADA, id)
    const seen = async (who: Parameters<typeof jobs.get>[0]) => [
      (await jobs.get(who, id))?.id === id,
      (await jobs.list(who, 10)).length,
      (await jobs.cancel(who, id))?.state,
      (await Array.fromAsync(jobs.events(who, id, new AbortController().signal))).length,
    ]
    expect(await seen(ADA)).toEqual([true, 1, 'done', 1])
    expect(await seen(caller('acme', 'op', 'operator'))).toEqual([true, 1, 'done', 1])
    expect(await seen(caller('acme', 'root', 'admin'))).toEqual([true, 1, 'done', 1])
    expect(await seen(caller('acme', 'bob'))).toEqual([false, 0, undefined, 0])
    expect(await seen(caller('other', 'ada', 'admin'))).toEqual([false, 0, undefined, 0])
  })

  test('a user lists only its own newest jobs', async () => {
    const { jobs, start } = await jobSetup({ look: { run: () => 1 } }, { work: false })
    const mine = await start(ADA, { tool_name: 'look', params: {} })
    for (let made = 0; made < 5; made++) await start(caller('acme', 'bob'), { tool_name: 'look', params: {} })
    expect((await jobs.list(ADA, 2)).map(({ id }) => id)).toEqual([mine.id])
  })
})

describe('progress', () => {
  test('is streamed and stored with the job', async () => {
    const slow = blockedHandler()
    const { jobs, start, until } = await jobSetup({
      slow: {
        run: (params, context) => {
          context.report({ done: 1, of: 2 })
          return slow.run(params, context)
        },
      },
    })
    const { id } = await start(ADA, { tool_name: 'slow', params: {} })
    await until(ADA, id, ({ progress }) => progress !== null)
    const events: JobEvent[] = []
    for await (const event of jobs.events(ADA, id, new AbortController().signal)) {
      events.push(event)
      if (event.event === 'progress') slow.open('done')
    }
    expect(events).toMatchObject([
      { event: 'progress', data: { done: 1, of: 2 } },
      { event: 'result', data: { success: true, result: 'done' } },
    ])
    expect(await jobs.get(ADA, id)).toMatchObject({ progress: { done: 1, of: 2 } })
  })

  test('of a job on another server arrives too', async () => {
    const slow = blockedHandler()
    const tools = {
      slow: {
        run: ((params, context) => {
          context.report('half')
          return slow.run(params, context)
        }) satisfies typeof slow.run,
      },
    }
    const there = await jobSetup(tools)
    const here = await jobSetup(tools, { folder: there.folder, work: false })
    const { id } = await there.start(ADA, { tool_name: 'slow', params: {} })
    const events: JobEvent[] = []
    for await (const event of here.jobs.events(ADA, id, new AbortController().signal)) {
      events.push(event)
      if (event.event === 'progress') slow.open('done')
    }
    expect(events).toMatchObject([{ data: 'half' }, { event: 'result', data: { result: 'done' } }])
  })

  test('that cannot be stored is dropped without failing the job', async () => {
    const { start, ended } = await jobSetup({
      loud: {
        run: (_, { report }) => {
          report('x'.repeat(100_000))
          report({ ok: 1 })
          report(() => 'x'.repeat(100_000))
          return 'done'
        },
      },
    })
    const { id } = await start(ADA, { tool_name: 'loud', params: {} })
    expect(await ended(ADA, id)).toMatchObject({ state: 'done', result: { result: 'done' } })
  })

  test('a listener that goes away is let go', async () => {
    const slow = blockedHandler()
    const { jobs, start } = await jobSetup({ slow: { run: slow.run } })
    const { id } = await start(ADA, { tool_name: 'slow', params: {} })
    const leave = new AbortController()
    const events = Array.fromAsync(jobs.events(ADA, id, leave.signal))
    leave.abort()
    expect(await events).toEqual([])
  })
})
