import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Installation } from '../src/app/installation.ts'
import { silentLog } from '../src/core/log.ts'
import { ModelError } from '../src/models/model-error.ts'
import { openScriptedServer } from '../src/server/fixtures/open-scripted-server.ts'
import { openToolServer, toolConfig } from '../src/server/fixtures/open-tool-server.ts'
import { call } from '../src/storage/fixtures/call-entry.ts'
import { migrate } from '../src/storage/sqlite/migrations.ts'
import { SqliteDatabase } from '../src/storage/sqlite/sqlite-database.ts'
import { sqliteEngine } from '../src/storage/sqlite/sqlite-engine.ts'
import { ManualClock } from '../src/testing/stand-ins.ts'

const DAY = 86_400_000
const PRICES = { input: 2, output: 10, cached_input: 0.5 }
const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 }

const paid = (per_call: number) => ({ run: () => 'done', cost: { per_call } })
const tenantBudget = { scope: 'tenant', per: 'day', amount: 0.5 } as const
// biome-ignore lint/suspicious/noExplicitAny: the answers of a server are read as they come.
const json = async (response: Response | Promise<Response>): Promise<any> => (await response).json()
const chat = (url: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ message: 'hello' }),
  })

describe('Cost and budgets', () => {
  test('[15.2-1] cost {per_call?, from_result? (JSONPath)} on a definition gives the cost of a call, all in one costs.currency (USD). Models have prices', async () => {
    let costs: unknown = 0.000001
    const { call, records, get, installation } = await openToolServer({
      flat: paid(0.25),
      metered: { run: () => ({ usage: { costs } }), cost: { per_call: 0.1, from_result: '$.usage.costs' } },
      summed: { run: () => [{ cost: 0.5 }, { cost: 0.25 }], cost: { from_result: '$[*].cost' } },
      free: paid(0),
      silent: () => 'done',
      failing: {
        run: () => {
          throw new Error('no')
        },
        cost: { per_call: 0.5 },
      },
      wrong: { run: () => 1, cost: { from_result: '$[' } },
      misspelt: { run: () => 1, cost: { perCall: 1 } as object },
      tiny: paid(0.0000001),
    })
    const costOf = async (name: string, params: unknown = {}) => (await json(call(name, params))).cost
    expect(await costOf('flat')).toBe(0.25)
    expect(await costOf('metered')).toBe(0.100001)
    for (const unknown of [undefined, null, -1, '1', 1_000_000, Number.MAX_VALUE, []]) {
      costs = unknown
      expect(await costOf('metered')).toBe(Array.isArray(unknown) ? 0.1 : null)
    }
    expect([await costOf('summed'), await costOf('free'), await costOf('silent')]).toEqual([0.75, 0, undefined])
    expect([await costOf('failing'), await costOf('flat', 1)]).toEqual([0.5, 0])
    const rows = await records()
    expect(rows.slice(0, 3).map(({ cost }) => cost)).toEqual([0.25, 0.100001, null])
    const { tools } = await json(get('/api/tools/list'))
    const names = tools.map(({ name }: { name: string }) => name)
    expect(names).not.toEqual(expect.arrayContaining(['wrong']))
    expect(names.filter((name: string) => ['wrong', 'misspelt', 'tiny'].includes(name))).toEqual([])
    expect(installation.budgets.currency).toBe('USD')

    const turns = [
      { calls: [{ name: 'look', arguments: {} }], usage },
      { text: 'Done.', usage: { ...usage, cached_tokens: 400 } },
    ]
    const scripted = await openScriptedServer(turns, {
      tools: { look: () => 'seen' },
      definition: { cost: { per_call: 0.01 } },
      prices: PRICES,
    })
    // 1000 × 2 + 100 × 10, then 600 × 2 + 400 × 0.5 + 100 × 10 millionths, and the call.
    expect(await json(chat(scripted.url))).toMatchObject({ cost: 0.003 + 0.0024 + 0.01 })
    const { runs } = await json(fetch(`${scripted.url}/api/runs`))
    expect(runs[0].cost).toBe(0.0154)
  })

  test('[15.2-2] GET /api/costs?by=tool|model|tenant|key|run&period= reports costs, and so do the page and /metrics', async () => {
    const server = await openScriptedServer(
      [
        { calls: [{ name: 'look', arguments: {} }], usage },
        { text: 'Done.', usage },
      ],
      { tools: { look: () => 'seen' }, definition: { cost: { per_call: 0.01 } }, prices: PRICES, local: false },
    )
    const [key, other] = [await server.key('acme'), await server.key('globex')]
    const headers = { authorization: `Bearer ${key}` }
    const costs = (query: string, used = key) =>
      json(fetch(`${server.url}/api/costs?${query}`, { headers: { authorization: `Bearer ${used}` } }))
    await json(chat(server.url, headers))
    const model = { name: 'scripted:turns', cost: 0.006, calls: 2, unknown_calls: 0 }
    const tool = { name: 'look', cost: 0.01, calls: 1, unknown_calls: 0 }
    const total = { cost: 0.016, calls: 3, unknown_calls: 0 }
    expect(await costs('by=model&period=day')).toMatchObject({
      currency: 'USD',
      rows: [model],
      days: [{ cost: 0.006 }],
    })
    expect((await costs('by=tool&period=month')).rows).toEqual([tool])
    expect((await costs('by=tenant&period=week')).rows).toEqual([{ name: 'acme', ...total }])
    const [ofKey] = (await costs('by=key')).rows
    expect(ofKey).toMatchObject({ name: expect.stringMatching(/^[\w-]{36}$/), ...total })
    expect(key).not.toContain(ofKey.name)
    expect((await costs('by=run')).rows).toMatchObject([{ cost: 0.016, calls: 1 }])
    expect((await costs('by=tool', other)).rows).toEqual([])
    const refused = await fetch(`${server.url}/api/costs?by=tenant&tenant=*`, { headers })
    expect(refused.status).toBe(403)
    const all = await server.key('acme', 'admin', ['observe', 'installation'])
    expect((await costs('by=tenant&tenant=*', all)).rows).toHaveLength(1)
    const metrics = await (await fetch(`${server.url}/metrics`, { headers })).text()
    expect(metrics).toContain('toolyard_tool_cost_total{tool="look"} 0.01')
    expect(metrics).toContain('toolyard_run_cost_total{model="scripted:turns"} 0.016')
  })

  test('[15.2-3] budgets [{scope: "tenant" | "key" | "tool" | "model", match?, per: "day" | "month", amount, action: "warn" | "refuse"}]: refused calls and runs are RATE_LIMITED with the budget named', async () => {
    const budgets = [
      { scope: 'tool', match: 'se*', per: 'day', amount: 0.2 },
      { scope: 'tenant', per: 'month', amount: 0.25, action: 'warn' },
    ] as const
    const { call, log, installation } = await openToolServer(
      { search: paid(0.1), other: paid(0.1), free: paid(0) },
      { budgets },
    )
    const calls = []
    for (const name of ['search', 'search', 'search', 'other', 'other', 'free']) calls.push(await json(call(name)))
    expect(calls.map(({ success }) => success)).toEqual([true, true, false, true, true, true])
    expect(calls[2]).toMatchObject({
      error_code: 'RATE_LIMITED',
      error: expect.stringMatching(
        /^The budget of tool 'search', 0.2 USD a day, is spent: 0.2 USD so far. It resets at \S+Z$/,
      ),
      cost: 0,
      details: { budget: { scope: 'tool', name: 'search', per: 'day', amount: 0.2, spent: 0.2, currency: 'USD' } },
    })
    expect(calls[3].warnings).toBeUndefined()
    expect(calls[4].warnings).toEqual([
      expect.stringMatching(/^The budget of tenant 'local', 0.25 USD a month, is spent/),
    ])
    await json(call('other'))
    expect(log.lines.filter(({ message }) => message.startsWith('The budget of tenant'))).toHaveLength(1)
    expect([installation.budgets.refusals, installation.budgets.warnings]).toEqual([1, 2])

    // Only results say what these cost: the last one is set aside.
    const metered = { run: async () => 0.1, cost: { per_call: 0.1, from_result: '$' } }
    const costly = await openToolServer({ metered }, { budgets: [{ scope: 'tool', per: 'day', amount: 1 }] })
    const ranOfTwenty = async ({ call }: typeof costly) => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => call('metered')))
      return answers.filter(({ status }) => status === 200).length
    }
    await costly.call('metered')
    await costly.records()
    // 0.2 is spent, so that four more fit.
    expect(await ranOfTwenty(costly)).toBe(4)
    const fresh = await openToolServer({ metered }, { budgets: [{ scope: 'tool', per: 'day', amount: 0.5 }] })
    // Nothing is known yet but the price per call.
    expect(await ranOfTwenty(fresh)).toBeLessThanOrEqual(5)

    // The result of a failed call says nothing: what it has set aside is spent, also if only other tenants know a cost.
    const moody = (params: { fail?: boolean }) => {
      if (params.fail) throw new Error('no')
      return 0.5
    }
    const failing = await openToolServer(
      {
        listed: { run: moody, cost: { per_call: 0.5, from_result: '$' } },
        found: { run: moody, cost: { from_result: '$' } },
      },
      { budgets: [{ scope: 'tool', per: 'day', amount: 1 }] },
    )
    const [acme, globex] = [await failing.key('acme'), await failing.key('globex')]
    const failed = async (name: string, key: string) => {
      const answers = []
      for (let count = 0; count < 3; count++) {
        answers.push(await json(failing.call(name, { fail: true }, { 'x-api-key': key })))
        await failing.records()
      }
      return answers.map(({ error_code, cost }) => [error_code, cost])
    }
    const thrice = [
      ['EXECUTION_ERROR', null],
      ['EXECUTION_ERROR', null],
      ['RATE_LIMITED', 0],
    ]
    expect(await failed('listed', globex)).toEqual(thrice)
    await failing.call('found', {}, { 'x-api-key': acme })
    await failing.records()
    expect(await failed('found', globex)).toEqual(thrice)

    const turn = { text: 'Hi.', usage }
    const scripted = await openScriptedServer([turn, turn, turn], {
      config: { budgets: [{ scope: 'model', match: 'scripted:*', per: 'month', amount: 0.004 }] },
      prices: PRICES,
    })
    expect([(await chat(scripted.url)).status, (await chat(scripted.url)).status]).toEqual([200, 200])
    const third = await chat(scripted.url)
    expect(third.status).toBe(429)
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await third.text()).toContain("The budget of model 'scripted:turns', 0.004 USD a month, is spent")
    expect(scripted.model.requests).toHaveLength(2)

    // A turn that breaks off says no usage: what it may have cost is spent, and a refused one costs nothing.
    const refusal = new ModelError('no', { status: 401 })
    const broken = { text: 'A begun answer', error: new ModelError('broken off') }
    const cut = await openScriptedServer([refusal, broken, 'Never said.'], {
      config: { budgets: [{ scope: 'tenant', per: 'month', amount: 0.0001 }] },
      prices: PRICES,
    })
    const statuses = []
    for (let count = 0; count < 3; count++) {
      statuses.push((await chat(cut.url)).status)
      await cut.installation.sink.flush()
    }
    expect([statuses[2], cut.model.requests.length]).toEqual([429, 2])
    const { total } = await json(fetch(`${cut.url}/api/costs?by=model`))
    expect(total).toMatchObject({ calls: 2, unknown_calls: 2 })
  })

  test('[15.2-4] Budgets are exact across servers to within one call per server', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-budgets-'))
    const { config, handlers } = toolConfig({ paid: { run: async () => 'done', cost: { per_call: 0.1 } } })
    const options = {
      config: { ...config, budgets: [tenantBudget] },
      handlers,
      log: silentLog,
      env: { TOOLYARD_DATA: folder },
    }
    const servers = [await Installation.open(options), await Installation.open(options)]
    onTestFinished(async () => {
      for (const server of servers) await server.close()
      await rm(folder, { recursive: true })
    })
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const server = servers[index % 2] as Installation
        return server.manager.getExecutor().execute('paid', {}, server.localContext('code'))
      }),
    )
    const ran = answers.filter(({ success }) => success).length
    expect(ran).toBe(5)
    for (const server of servers) {
      server.manager.getExecutor().flush()
      await server.sink.flush()
    }
    const { total } = await (servers[0] as Installation).storage.spending.report({
      ...{ tenant: 'local', by: 'tenant', from: 0, to: Number.MAX_SAFE_INTEGER, limit: 10 },
    })
    expect(total).toEqual({ spent: 500_000, calls: 5, unknown: 0 })
  })

  test('[15.2-5] Budget counters are rows of their own, stored for 13 months', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-spending-'))
    const database = new SqliteDatabase(folder)
    migrate(database)
    const clock = new ManualClock(Date.UTC(2026, 0, 15))
    const engine = sqliteEngine(database, { folder, instance: 'one', keepDays: 1 }, { log: silentLog, clock })
    onTestFinished(async () => {
      await engine.close()
      vi.useRealTimers()
      await rm(folder, { recursive: true })
    })
    const calls = [Date.UTC(2024, 10, 30), Date.UTC(2024, 11, 1), clock.wall()].map((at) => call({ at, cost: 100_000 }))
    await engine.tables.write({ rows: [], runs: [], cells: [], calls })
    const days = async () => {
      const query = { tenant: 'acme', by: 'tool', from: 0, to: Number.MAX_SAFE_INTEGER, limit: 10 } as const
      return (await engine.spending.report(query)).days.map(({ start }) => new Date(start).toISOString().slice(0, 10))
    }
    expect(await days()).toEqual(['2024-11-30', '2024-12-01', '2026-01-15'])
    vi.advanceTimersByTime(60_000)
    await vi.waitFor(async () => expect(await days()).toEqual(['2024-12-01', '2026-01-15']))
    const rows = database.all<{ scope: string; per: string }>('SELECT DISTINCT scope, per FROM spending ORDER BY 1, 2')
    expect(rows.map(({ scope, per }) => `${scope} ${per}`)).toEqual([
      ...['tenant day', 'tenant month', 'tool day', 'tool month'],
    ])
  })

  test('[15.2-9] period of a cost report is day, week, month, or from/to', async () => {
    const clock = new ManualClock(Date.UTC(2026, 6, 1, 12))
    const { call, get } = await openToolServer({ paid: paid(1) }, {}, { clock })
    const total = async (query: string) => (await json(get(`/api/costs?${query}`))).total?.cost
    // 1 July 2026 is a Wednesday: calls on that day, the Thursday, and the Monday after.
    await json(call('paid'))
    clock.advance(DAY)
    await json(call('paid'))
    clock.advance(4 * DAY)
    await json(call('paid'))
    expect(await total('period=day')).toBe(1)
    expect(await total('period=week')).toBe(1)
    expect(await total('period=month')).toBe(3)
    expect(await total('')).toBe(3)
    expect(await total('from=2026-07-01&to=2026-07-03')).toBe(2)
    expect(await total('from=2026-07-02')).toBe(2)
    for (const wrong of [
      'period=year',
      'from=2026-02-30',
      'from=yesterday',
      'to=2026-07-03',
      'period=day&from=2026-07-01',
      'from=2026-07-03&to=2026-07-03',
      'from=2020-01-01',
    ]) {
      expect([wrong, (await get(`/api/costs?${wrong}`)).status]).toEqual([wrong, 400])
    }
  })

  test('[15.2-17] GET /api/budgets says what is spent of each budget', async () => {
    const budgets = [
      { scope: 'tool', match: 'se*', per: 'day', amount: 0.2 },
      { scope: 'tool', match: 'other', per: 'month', amount: 1 },
      { scope: 'tenant', per: 'month', amount: 0.25, action: 'warn' },
    ] as const
    const server = await openToolServer({ search: paid(0.1), other: paid(0.1), free: paid(0) }, { budgets })
    for (const name of ['search', 'search', 'search', 'free']) await server.call(name)
    const { budgets: states } = await json(fetch(`${server.url}/api/budgets`))
    const resets_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00.000Z$/)
    const common = { tenant: 'local', currency: 'USD', resets_at }
    expect(states).toEqual([
      { ...common, scope: 'tenant', name: 'local', per: 'month', amount: 0.25, spent: 0.2, action: 'warn' },
      { ...common, scope: 'tool', name: 'search', per: 'day', amount: 0.2, spent: 0.2, action: 'refuse' },
      { ...common, scope: 'tool', name: 'other', per: 'month', amount: 1, spent: 0, action: 'refuse' },
    ])
    const all = await json(fetch(`${server.url}/api/budgets?tenant=*`))
    expect(all.budgets).toEqual([states[0]])
  })

  test('[15.2-10] A refused budget has Retry-After', async () => {
    const clock = new ManualClock(Date.UTC(2026, 6, 1, 23, 59))
    const { call, get, installation } = await openToolServer({ paid: paid(1) }, { budgets: [tenantBudget] }, { clock })
    expect((await call('paid')).status).toBe(200)
    const refused = await call('paid')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect((await json(refused)).details).toMatchObject({
      retry_after_ms: 60_000,
      budget: { resets_at: '2026-07-02T00:00:00.000Z' },
    })
    clock.advance(60_000)
    expect((await call('paid')).status).toBe(200)
    // Calls that budgets refused, or were only asked about, are in no row.
    clock.advance(DAY)
    expect(await json(get('/api/costs?by=tenant&period=day'))).toMatchObject({ rows: [], days: [] })
    await installation.budgets.take({ tenant: 'local', tool: 'paid' }, 1)
    expect(await json(get('/api/costs?by=tenant&period=day'))).toMatchObject({ rows: [], days: [] })
  })

  test('[15.2-14] A stored answer costs nothing, also when a budget is spent', async () => {
    let runs = 0
    const pay = { run: () => `paid ${++runs}`, cost: { per_call: 1 }, effect: 'write' } as const
    const look = {
      run: () => `seen ${++runs}`,
      cost: { per_call: 1 },
      effect: 'read',
      cache: { ttl_ms: 60_000 },
    } as const
    const { call } = await openToolServer({ pay, look }, { budgets: [{ scope: 'tool', per: 'day', amount: 1 }] })
    const keyed = (key: string, params = {}) => call('pay', params, { 'idempotency-key': key })
    expect(await json(keyed('one'))).toMatchObject({ result: 'paid 1', cost: 1 })
    expect(await json(keyed('one'))).toMatchObject({ result: 'paid 1', cost: 0 })
    expect([(await keyed('two')).status, (await call('pay')).status]).toEqual([429, 429])
    expect(await json(call('look'))).toMatchObject({ result: 'seen 2', cost: 1 })
    expect(await json(call('look'))).toMatchObject({ result: 'seen 2', cost: 0 })
    expect((await call('look', { other: 1 })).status).toBe(429)
    expect(runs).toBe(2)
  })

  test('[15.2-15] A tool that calls others pays its per_call once, however often it waits for an approval and continues', async () => {
    const steps = (tools: readonly string[]) => tools.map((tool) => ({ id: tool, tool }))
    const pipeline = (tools: readonly string[], cost: object) => ({
      run: () => undefined,
      implementation: { type: 'pipeline', steps: steps(tools) },
      cost,
    })
    const server = await openToolServer(
      {
        look: paid(0.1),
        pay: { ...paid(0.2), approval: true },
        send: { ...paid(0.3), approval: true },
        inner: pipeline(['look', 'pay'], { per_call: 1 }),
        outer: pipeline(['inner', 'send'], { per_call: 2, from_result: '$.send.missing' }),
        whole: pipeline(['inner', 'send'], { per_call: 4 }),
      },
      { budgets: [{ scope: 'tool', match: 'whole', per: 'day', amount: 4 }] },
      { local: false },
    )
    const { post, records, key } = server
    const [caller, operator] = [await key('acme'), await key('acme', 'operator')].map((secret) => ({
      authorization: `Bearer ${secret}`,
    }))
    const execute = (tool_name: string, approval_id?: string) =>
      json(post('/tools/execute', { tool_name, params: {}, approval_id }, caller))
    const costs = async (tool: string) => {
      let answer = await execute(tool)
      const seen = [answer.cost]
      while (answer.error_code === 'APPROVAL_REQUIRED') {
        const { id } = answer.details.approval
        // A caller that does not wait for the decision pays nothing for it.
        expect(await execute(tool, id)).toMatchObject({ error_code: 'APPROVAL_REQUIRED', cost: 0 })
        expect((await post(`/api/approvals/${id}`, { decision: 'approve' }, operator)).status).toBe(200)
        answer = await execute(tool, id)
        seen.push(answer.cost)
      }
      return seen
    }
    expect(await costs('whole')).toEqual([4, 0, 0])
    // Only the result says the rest.
    expect(await costs('outer')).toEqual([2, 0, null])
    expect((await execute('whole')).error_code).toBe('RATE_LIMITED')
    const sum = (tool: string, rows: Awaited<ReturnType<typeof records>>) =>
      rows.reduce((all, row) => all + (row.tool === tool ? (row.cost ?? 0) : 0), 0)
    const rows = await records('acme')
    expect(['whole', 'outer', 'inner', 'pay'].map((tool) => sum(tool, rows))).toEqual([4, 2, 2, 0.4])
  })

  test('[15.2-16] Models that tools and suites ask are counted, and stopped by budgets', async () => {
    const summary = { text: '{"summary": "Short."}', usage }
    const turns = [summary, { calls: [{ name: 'summarize', arguments: { text: 'b' } }] }, summary]
    const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
    const implementation = { type: 'builtin', handler: 'summarize' }
    const registry = [{ name: 'summarize', description: 'Summarizes a text', parameters, implementation }]
    const server = await openScriptedServer(turns, {
      ...{ prices: PRICES, local: false },
      config: { tools: { enabled: true, registry }, budgets: [{ scope: 'key', per: 'day', amount: 0.005 }] },
    })
    const { url, installation } = server
    const secret = await server.key('acme')
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
    const post = (path: string, body: object) =>
      json(fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) }))
    const summarize = (text: string) => post('/tools/execute', { tool_name: 'summarize', params: { text } })
    const spent = async () => {
      await installation.sink.flush()
      const { total } = await json(fetch(`${url}/api/costs?by=key`, { headers }))
      return [total.cost, total.calls]
    }
    expect(await summarize('a')).toMatchObject({ result: { summary: 'Short.' } })
    // 0.003 for the model. The call itself has an unknown cost.
    expect(await spent()).toEqual([0.003, 2])
    expect(server.model.requests[0]?.max_tokens).toBeUndefined()
    // A run does not spend more than it may by calling a tool that asks a model.
    const loop = installation.manager.getLoop()
    const model = (await installation.manager.getModels()).get('scripted:turns')
    const context = { ...installation.localContext('code'), tenant: 'globex' }
    const messages = [{ role: 'user', content: 'b' }] as const
    const run = { model, messages, context, prices: PRICES, allowed_tools: ['summarize'], budget: { tokens: 900 } }
    const events = await Array.fromAsync(loop.run(run as never))
    const [asked] = (events.at(-1) as never as { answer: { tool_calls: { result: unknown }[] } }).answer.tool_calls
    expect(asked?.result).toMatchObject({ error_code: 'RATE_LIMITED', error: expect.stringContaining('token limit') })
    expect(server.model.requests).toHaveLength(2)

    expect(await summarize('c')).toMatchObject({ success: true })
    expect(await spent()).toEqual([0.006, 4])
    expect(await summarize('d')).toMatchObject({ error_code: 'RATE_LIMITED', details: { budget: { scope: 'key' } } })
    const { id } = await post('/api/validations/runs', { models: ['scripted:turns'], suites: ['generated'] })
    await vi.waitFor(async () => {
      const { report } = await json(fetch(`${url}/api/validations/runs/${id}`, { headers }))
      const message = expect.stringMatching(/^The budget of key .*, 0.005 USD a day, is spent/)
      expect(report.models).toMatchObject([{ stopped: { reason: 'budget', message } }])
    })
    expect(server.model.requests).toHaveLength(3)
  })
})
