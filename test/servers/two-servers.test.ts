import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { allowAt, ENCRYPTION_KEY, openAccounts } from '../../src/server/fixtures/open-connections.ts'
import { PUBLIC_URL } from '../../src/server/fixtures/open-issuer.ts'
import { type Databases, startDatabases } from '../postgres/databases.ts'
import { FULL } from '../setup/full.ts'
import { command, type StartedServer, startServer } from './start-server.ts'

const CALLS = 120
const AT_ONCE = 12
const LIMIT = 60

let databases: Databases
let folder: string
let env: Record<string, string>
let servers: [StartedServer, StartedServer]
let key: string
let accounts: Awaited<ReturnType<typeof openAccounts>>
/** The payments that arrived. */
const payments: string[] = []
const bank = createServer(async (request, response) => {
  payments.push(((await json(request)) as { id: string }).id)
  response.setHeader('content-type', 'application/json').end('{"paid":true}')
})

async function startBank(): Promise<string> {
  await once(bank.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(bank.address() as AddressInfo).port}/pay`
}

const notes = async (): Promise<string[]> => (await readFile(join(folder, 'notes'), 'utf8')).trim().split('\n')

beforeAll(async () => {
  databases = await startDatabases()
  folder = await mkdtemp(join(tmpdir(), 'toolyard-servers-'))
  await writeFile(join(folder, 'notes'), '')
  const notingServer = fileURLToPath(new URL('./noting-server.ts', import.meta.url))
  const limited = {
    name: 'limited',
    description: 'A tool that may not be called often.',
    parameters: { type: 'object' },
    implementation: { type: 'mock', mock_response: 'here' },
    rate_limit: { calls: LIMIT, per_ms: 600_000 },
  }
  const payment = {
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    implementation: { type: 'http', method: 'POST', url: await startBank() },
    approval: true,
  }
  const greets = ['1.0.0', '2.0.0'].map((version) => ({
    ...{ name: 'greet', description: 'Greets.', version, parameters: { type: 'object' } },
    implementation: { type: 'mock', mock_response: version },
  }))
  const guarded = { ...limited, name: 'guarded', permissions: ['special'], rate_limit: undefined }
  const paid = { ...limited, name: 'paid', rate_limit: undefined, cost: { per_call: 0.1 } }
  const metered = {
    ...paid,
    name: 'metered',
    implementation: { type: 'mock', mock_response: { cost: 0.000007 } },
    cost: { per_call: 0.01, from_result: '$.cost' },
  }
  accounts = await openAccounts()
  const { connections, tools } = accounts.config()
  const config = {
    tools: {
      enabled: true,
      registry: [limited, guarded, payment, paid, metered, ...greets, ...(tools?.registry ?? [])],
    },
    connections,
    budgets: [
      { scope: 'tool', match: 'paid', per: 'month', amount: 3 },
      { scope: 'tenant', per: 'month', amount: 1_000 },
      { scope: 'tenant', per: 'day', amount: 0.5, action: 'warn' },
    ],
    http: { allow_private: ['127.0.0.1'] },
    storage: { audit: 'durable' },
    server: { drain_ms: 0, public_url: PUBLIC_URL },
    mcpServers: { notes: { command: process.execPath, args: [notingServer, join(folder, 'notes')] } },
  }
  await writeFile(join(folder, 'toolyard.config.json'), JSON.stringify(config))
  env = {
    TOOLYARD_DATABASE_URL: await databases.create(),
    TOOLYARD_DATA: join(folder, 'data'),
    TOOLYARD_ENCRYPTION_KEY: ENCRYPTION_KEY,
  }
  const { document } = await command(['keys', 'create', '--tenant', 'acme', '--role', 'admin'], env, folder)
  key = document.key
  // At once: the migrations must get along with each other.
  servers = await Promise.all([startServer(env, folder), startServer(env, folder)])
  for (const { url } of servers) {
    await vi.waitFor(async () => expect(await names(url)).toContain('note'))
  }
})

afterAll(async () => {
  for (const { process } of servers ?? []) process.kill('SIGKILL')
  bank.close()
  await accounts?.close()
  await databases?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** The servers that have run a tool for this, in order. */
const takers = async (id: string): Promise<number[]> =>
  (await notes()).filter((line) => line.startsWith(`${id} `)).map((line) => Number(line.split(' ')[1]))

const headers = (more: object = {}) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more })

async function names(url: string): Promise<string[]> {
  const response = await fetch(`${url}/api/tools/list`, { headers: headers() })
  const { tools } = (await response.json()) as { tools: { name: string }[] }
  return tools.map(({ name }) => name)
}

async function execute(url: string, tool_name: string, params: object, more: object = {}) {
  const body = JSON.stringify({ tool_name, params })
  const response = await fetch(`${url}/tools/execute`, { method: 'POST', headers: headers(more), body })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

describe('two servers on one Postgres', () => {
  test.runIf(FULL)('share keys: one that is revoked is refused by both, and its streams end', async () => {
    const { document } = await command(['keys', 'create', '--tenant', 'acme', '--role', 'user'], env, folder)
    const status = async ({ url }: StartedServer) =>
      (await fetch(`${url}/api/tools/list`, { headers: { 'x-api-key': document.key } })).status
    for (const server of servers) await expect.poll(() => status(server)).toBe(200)
    const streams = await Promise.all(
      servers.map(({ url }, index) => {
        const body = JSON.stringify({
          tool_name: 'look',
          params: { id: `stream-${index}`, ms: 55_000 },
          timeout_ms: 60_000,
        })
        const accept = { 'x-api-key': document.key, accept: 'text/event-stream', 'content-type': 'application/json' }
        return fetch(`${url}/tools/execute`, { method: 'POST', headers: accept, body })
      }),
    )
    await command(['keys', 'revoke', document.id], env, folder)
    for (const stream of streams) expect(await stream.text()).toContain('event: key-ended')
    for (const server of servers) await expect.poll(() => status(server)).toBe(401)
  })

  test('share tenants: a flag that is set counts on both', async () => {
    const statuses = () => Promise.all(servers.map(async ({ url }) => (await execute(url, 'guarded', {})).status))
    expect(await statuses()).toEqual([403, 403])
    await command(['tenants', 'set', 'acme', 'special=true'], env, folder)
    await expect.poll(statuses).toEqual([200, 200])
  })

  test.runIf(FULL)('share rollouts: each caller stays on its side on both, and a promotion reaches both', async () => {
    const [{ url: first }] = servers
    const make = async (_: unknown, index: number): Promise<string> => {
      const body = JSON.stringify({ name: `caller ${index}`, role: 'user' })
      const made = await fetch(`${first}/api/keys`, { method: 'POST', headers: headers(), body })
      return ((await made.json()) as { key: string }).key
    }
    const keys = await Promise.all(Array.from({ length: 24 }, make))
    const sides = async ({ url }: StartedServer) => {
      const seen: unknown[] = []
      for (const one of keys) {
        seen.push((await execute(url, 'greet', {}, { authorization: `Bearer ${one}` })).body.result)
      }
      return seen
    }
    const both = async () => (await Promise.all(servers.map(sides))) as [unknown[], unknown[]]
    const seen = async () => (await both()).map((one) => [...new Set(one)].sort())
    await expect.poll(seen).toEqual([['2.0.0'], ['2.0.0']])
    await command(['rollout', 'start', 'greet', '--candidate', '1.0.0', '--percent', '50'], env, folder)
    await expect.poll(seen).toEqual([
      ['1.0.0', '2.0.0'],
      ['1.0.0', '2.0.0'],
    ])
    const [one, other] = await both()
    expect(other).toEqual(one)
    await command(['rollout', 'promote', 'greet'], env, folder)
    await expect.poll(seen).toEqual([['1.0.0'], ['1.0.0']])
  })

  test.runIf(FULL)('share budgets to the call, and the counters are what the audit log says', async () => {
    const calls = Array.from({ length: 4_000 }, (_, index) => index)
    const ran: string[] = []
    const caller = async () => {
      for (let index = calls.pop(); index !== undefined; index = calls.pop()) {
        const name = index % 3 === 0 ? 'metered' : 'paid'
        const { status, body, headers } = await execute((servers[index % 2] as StartedServer).url, name, {})
        if (status === 200) ran.push(name)
        else {
          expect([status, body.error]).toEqual([
            429,
            expect.stringMatching(/^The budget of tool 'paid', 3 USD a month/),
          ])
          expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, caller))
    expect(ran.filter((name) => name === 'paid')).toHaveLength(30)
    const { url } = servers[1]
    // biome-ignore lint/suspicious/noExplicitAny: reports and rows.
    const ask = async (path: string): Promise<any> => (await fetch(url + path, { headers: headers() })).json()
    const { rows } = await ask('/api/costs?by=tool')
    const metered = ran.length - 30
    const costs = Object.fromEntries(rows.map((row: { name: string; cost: number }) => [row.name, row.cost]))
    expect(costs).toMatchObject({ paid: 3, metered: (metered * 10_007) / 1e6 })
    const audit = await ask('/audit?format=json&type=call')
    const cents = audit.reduce(
      (sum: number, { cost }: { cost: number | null }) => sum + Math.round((cost ?? 0) * 1e6),
      0,
    )
    const { total } = await ask('/api/costs?by=tenant')
    expect(Math.round(total.cost * 1e6)).toBe(cents)
  })

  test('share approvals: of two decisions one counts, and an approved call runs once', async () => {
    const create = async (role: string) =>
      (await command(['keys', 'create', '--tenant', 'acme', '--role', role], env, folder)).document.key as string
    const [asking, deciding] = [await create('user'), await create('operator')]
    const send = async (url: string, path: string, sender: string, body: object) => {
      const headers = { 'x-api-key': sender, 'content-type': 'application/json' }
      const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      // biome-ignore lint/suspicious/noExplicitAny: envelopes and approvals.
      return { status: response.status, body: (await response.json()) as any }
    }
    const bothKnow = () =>
      Promise.all(
        servers.map(
          async ({ url }) => (await send(url, '/api/approvals/none', deciding, { decision: 'reject' })).status,
        ),
      )
    await expect.poll(bothKnow).toEqual([404, 404])
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const call = { tool_name: 'pay', params: { id: `asked-${index}` } }
        const asked = await Promise.all(servers.map(({ url }) => send(url, '/tools/execute', asking, call)))
        const ids = new Set(asked.map(({ body }) => body.details.approval.id))
        expect(ids.size).toBe(1)
        const [id] = ids
        const decisions = await Promise.all([
          send(servers[0].url, `/api/approvals/${id}`, deciding, {
            decision: 'approve',
            params: { id: `paid-${index}` },
          }),
          send(servers[1].url, `/api/approvals/${id}`, deciding, { decision: 'reject' }),
        ])
        expect(decisions.map(({ status }) => status).sort()).toEqual([200, 409])
        const runs = servers.flatMap(({ url }) =>
          [0, 1, 2].map(() => send(url, '/tools/execute', asking, { ...call, approval_id: id })),
        )
        const results = new Set((await Promise.all(runs)).map(({ status }) => status))
        const approved = decisions[0]?.status === 200
        expect([...results]).toEqual([approved ? 200 : 403])
        return approved ? [`paid-${index}`] : []
      }),
    )
    expect(payments.sort()).toEqual(outcomes.flat().sort())
  })

  test('share connections: both finish what one has started, and the token is renewed once', async () => {
    const { issuer, tokens } = accounts
    issuer.state.tokenSeconds = 20
    const [first, second] = servers
    const body = JSON.stringify({ provider: 'octohub' })
    const started = await fetch(`${first.url}/api/connections`, { method: 'POST', headers: headers(), body })
    const { url } = (await started.json()) as { url: string }
    const cookie = started.headers.get('set-cookie')?.split(';')[0] ?? ''
    const answer = new URL(await allowAt(url)).search
    const finished = await fetch(`${second.url}/api/connections/octohub/answer`, {
      method: 'POST',
      headers: { ...headers(), cookie },
      body: JSON.stringify({ answer }),
    })
    expect(finished.status).toBe(200)
    issuer.state.tokenSeconds = 3600
    const before = issuer.asked('POST /token')
    const calls = Array.from({ length: 20 }, (_, index) => execute(index % 2 ? first.url : second.url, 'write', {}))
    for (const call of await Promise.all(calls)) expect(call.body).toMatchObject({ result: { account: 'ada' } })
    expect(issuer.asked('POST /token') - before).toBe(1)
    expect([tokens.length, new Set(tokens).size]).toEqual([20, 1])
  })

  test('share limits: together they let through what one may, give or take 5 %', async () => {
    let [ran, refused] = [0, 0]
    // A server that has none left gets what the other doesn't use.
    const hammer = async (url: string) => {
      while (ran < LIMIT * 0.9 || refused < LIMIT) {
        if ((await execute(url, 'limited', {})).status === 200) ran++
        else refused++
      }
    }
    await Promise.all(servers.flatMap(({ url }) => [hammer(url), hammer(url), hammer(url)]))
    expect(ran).toBeLessThanOrEqual(LIMIT * 1.05)
  })

  test('share answers: a write is run once, whichever server is asked again', async () => {
    const keyed = { 'idempotency-key': 'same everywhere' }
    const [first, second] = await Promise.all(servers.map(({ url }) => execute(url, 'note', { id: 'shared' }, keyed)))
    expect([first?.body.result, second?.body.result]).toEqual(['noted shared', 'noted shared'])
    expect((await notes()).filter((line) => line === 'shared')).toHaveLength(1)
    const other = await execute(servers[1].url, 'note', { id: 'another' }, keyed)
    expect([other.status, other.body.error_code]).toEqual([400, 'INVALID_PARAMETERS'])
  })

  test('when one is killed under load nothing acknowledged is lost and nothing is written twice', async () => {
    const [dying, living] = servers
    const acknowledged = new Set<string>()
    const unknown = new Set<string>()
    let broken = 0
    let next = 0
    const work = async () => {
      for (let call = next++; call < CALLS; call = next++) {
        const id = `call-${call}`
        const keyed = { 'idempotency-key': id }
        let answer = await execute(servers[call % 2]?.url as string, 'note', { id }, keyed).catch(() => undefined)
        if (answer === undefined) {
          broken++
          answer = await execute(living.url, 'note', { id }, keyed)
        }
        if (answer.status === 200) acknowledged.add(id)
        else if (answer.body.outcome === 'unknown') unknown.add(id)
        else throw new Error(`${id}: ${JSON.stringify(answer.body)}`)
        if (call === CALLS / 3) dying.process.kill('SIGKILL')
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))

    expect(acknowledged.size + unknown.size).toBe(CALLS)
    // Those that were under way when it died, and those sent to it before each worker knew.
    expect(unknown.size).toBeLessThanOrEqual(AT_ONCE)
    expect(broken).toBeGreaterThan(0)
    const written = (await notes()).filter((line) => line.startsWith('call-'))
    expect(new Set(written).size).toBe(written.length)
    for (const id of acknowledged) expect(written).toContain(id)

    const recorded = await audited('note')
    expect(recorded).toBeGreaterThanOrEqual(acknowledged.size)
    const { code, document } = await command(['audit', 'verify'], env, folder)
    expect([code, document.faults]).toEqual([0, []])
  })

  test.runIf(FULL)(
    'a job of a server that died is taken over by another',
    async () => {
      const third = await startServer(env, folder)
      await expect.poll(() => names(third.url)).toContain('look')
      // Any server may take a job: as many are started as it takes for the third to have one.
      let [path, id] = ['', '']
      for (let job = 0; job < 20 && path === ''; job++) {
        id = `job-${job}`
        const started = await execute(third.url, 'look', { id, ms: 5_000 }, { prefer: 'respond-async' })
        expect(started.status).toBe(202)
        await expect.poll(async () => (await takers(id)).length).toBe(1)
        if ((await takers(id))[0] === third.process.pid) path = started.headers.get('location') as string
      }
      third.process.kill('SIGKILL')
      const state = async () => {
        const response = await fetch(`${servers[1].url}${path}`, { headers: headers() })
        return (await response.json()) as { state: string; result: { result?: unknown } | null }
      }
      await expect.poll(async () => (await state()).state, { interval: 500, timeout: 200_000 }).toBe('done')
      expect((await state()).result).toMatchObject({ success: true, result: `seen ${id}` })
      const [first, second, ...more] = await takers(id)
      expect([first, more]).toEqual([third.process.pid, []])
      expect(servers.map((server) => server.process.pid)).toContain(second)
    },
    300_000,
  )

  test('the one that is left ends in good order', async () => {
    const running = execute(servers[1].url, 'look', { id: 'last', ms: 1_000 })
    await expect.poll(async () => (await takers('last')).length).toBe(1)
    expect(await servers[1].end()).toBe(0)
    expect((await running).body).toMatchObject({ success: true, result: 'seen last' })
    const { document } = await command(['audit', 'verify'], env, folder)
    expect(document).toMatchObject({ faults: [] })
  })
})

async function audited(tool: string): Promise<number> {
  let [rows, cursor] = [0, '']
  do {
    const query = `tool=${tool}&limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
    const response = await fetch(`${servers[1].url}/audit?${query}`, { headers: headers() })
    const page = (await response.json()) as { rows: { outcome: string }[]; next?: string }
    rows += page.rows.filter(({ outcome }) => outcome === 'success').length
    cursor = page.next ?? ''
  } while (cursor !== '')
  return rows
}
