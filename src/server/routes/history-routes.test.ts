import { expect, test } from 'vitest'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'
import type { ChatView, ListedCall, ShownCall, ShownChat } from '../http/views.ts'

const noted = { calls: [{ name: 'note', arguments: { text: 'a', password: 'hunter2' } }] }

/** A server, and the last call of its log as the page reads it. */
async function openYard(storage?: 'off' | 'errors' | 'all') {
  const server = await openToolServer(
    {
      note: async ({ text }) => {
        if (text === 'fail') throw new Error('It broke')
        return { text, token: 'secret-1234', image: 'x'.repeat(text === 'long' ? 100_000 : 1) }
      },
    },
    storage === undefined ? {} : { storage: { payloads: storage } },
  )
  return {
    ...server,
    async last(headers = {}): Promise<ShownCall> {
      const { rows } = (await (await server.get('/audit?type=call&limit=1', headers)).json()) as {
        rows: { id: string }[]
      }
      return (await server.get(`/audit/${encodeURIComponent(rows[0]?.id ?? '')}`, headers)).json() as Promise<ShownCall>
    },
  }
}

test('without keys, the parameters and the result of a call are stored without secrets', async () => {
  const { call, last, get } = await openYard()
  await call('note', { text: 'ty_abcdefgh1234', password: 'hunter2' })
  const { row, payload, payloads, run } = await last()
  expect(payload).toEqual({
    params: { text: '[redacted]', password: '[redacted]' },
    result: { text: '[redacted]', token: '[redacted]', image: 'x' },
  })
  expect([row.tool, payloads, run]).toEqual(['note', 'all', false])
  expect(await (await get('/api/session')).json()).toMatchObject({ payloads: 'all' })
  await call('note', { text: 'fail' })
  expect((await last()).payload).toEqual({ params: { text: 'fail' }, error: expect.stringContaining('It broke') })
})

test('a payload of more than 64 KB is shortened', async () => {
  const { call, last } = await openYard()
  await call('note', { text: 'long' })
  const { payload } = await last()
  expect(payload).toMatchObject({ params: { text: 'long' }, shortened: true })
  expect(Buffer.byteLength(JSON.stringify(payload))).toBeLessThan(65_537)
})

test('payloads of failed calls only, or of none', async () => {
  const errors = await openYard('errors')
  await errors.call('note', { text: 'a' })
  expect((await errors.last()).payload).toBeNull()
  await errors.call('note', { text: 'fail' })
  expect((await errors.last()).payload).toMatchObject({ params: { text: 'fail' } })
  const off = await openYard('off')
  await off.call('note', { text: 'fail' })
  expect(await off.last()).toMatchObject({ payload: null, payloads: 'off' })
})

test('a page of calls has previews of their stored parameters, for callers who may read them', async () => {
  const { call, get, key } = await openYard('all')
  const as = async (...[tenant, role, scopes]: Parameters<typeof key>) => ({
    authorization: `Bearer ${await key(tenant, role, scopes)}`,
  })
  const [acme, globex] = [await as('acme'), await as('globex')]
  await call('note', { text: 'Berlin', password: 'hunter2' }, acme)
  await call('note', { text: '😀'.repeat(70_000) }, acme)
  await call('note', {}, acme)
  await call('note', { text: 'fail' }, globex)
  const previews = async (query: string, headers: Record<string, string>) => {
    const page = await get(`/audit?type=call${query}`, headers)
    const { rows } = (await page.json()) as { rows: ListedCall[] }
    return rows.map(({ parameters_preview }) => parameters_preview)
  }
  const own = [undefined, `text: "${'😀'.repeat(112)}…`, 'text: "Berlin", password: "[redacted]"']
  expect(await previews('&preview=parameters', acme)).toEqual(own)
  expect(await previews('&preview=parameters&tool=note&outcome=success', acme)).toEqual(own)
  expect(await previews('&preview=parameters&limit=1', acme)).toEqual([undefined])
  expect(await previews('&preview=parameters', globex)).toEqual(['text: "fail"'])
  const whole = await as('hq', 'operator', ['observe', 'installation'])
  expect(await previews('&preview=parameters&tenant=*', whole)).toEqual(['text: "fail"', ...own])
  expect(await previews('', acme)).toEqual([undefined, undefined, undefined])
  for (const format of ['csv', 'json']) {
    const text = await (await get(`/audit?preview=parameters&format=${format}`, acme)).text()
    expect(text).toContain('note')
    expect(text).not.toMatch(/Berlin|preview/)
  }
  const unable = await as('acme', 'operator', ['call', 'read'])
  for (const headers of [unable, {}]) {
    const refused = await get('/audit?type=call&preview=parameters', headers)
    expect([refused.status, await refused.text()]).toEqual([
      headers === unable ? 403 : 401,
      expect.not.stringContaining('Berlin'),
    ])
  }
  expect((await get('/audit?tenant=acme&preview=parameters', globex)).status).toBe(403)
  expect((await get('/audit?preview=results', acme)).status).toBe(400)
})

test('a page of calls has no previews of parameters that are not stored', async () => {
  const { call, get } = await openYard('errors')
  await call('note', { text: 'fail' })
  await call('note', { text: 'a' })
  const { rows } = (await (await get('/audit?type=call&preview=parameters')).json()) as { rows: ListedCall[] }
  expect(rows.map((row) => row.parameters_preview)).toEqual([undefined, 'text: "fail"'])
  expect(rows[0]).not.toHaveProperty('parameters_preview')
})

test('payloads leave half of the quota for jobs', async () => {
  const limits = { storage_bytes: 4_000 }
  const { call, records } = await openToolServer({ note: async () => 'x'.repeat(500) }, { limits })
  for (let calls = 0; calls < 10; calls++) await call('note')
  await records()
  const job = await call('note', { text: 'y'.repeat(1_000) }, { prefer: 'respond-async' })
  expect([job.status, await job.text()]).toEqual([202, expect.stringContaining('queued')])
})

test('with keys, payloads are stored only if the configuration says so', async () => {
  for (const [policy, stored] of [
    [undefined, false],
    ['all', true],
  ] as const) {
    const { call, last, key } = await openYard(policy)
    const headers = { authorization: `Bearer ${await key('acme')}` }
    await call('note', { text: 'a' }, headers)
    const shown = await last(headers)
    expect([shown.payloads, shown.payload !== null]).toEqual([policy ?? 'off', stored])
  }
})

test('the steps and the recording of a run follow the same setting', async () => {
  const runOf = async (payloads: 'off' | 'all') => {
    const config = { storage: { payloads } }
    const { url } = await openScriptedServer([noted, 'Noted.'], { tools: { note: () => 1 }, config })
    const post = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const asked = await fetch(`${url}/chat`, { ...post, body: JSON.stringify({ message: 'Take a note' }) })
    const { run_id } = (await asked.json()) as { run_id: string }
    const run = (await (await fetch(`${url}/api/runs/${run_id}`)).json()) as { answer: string; steps: object[] }
    const cassette = await fetch(`${url}/api/runs/${run_id}/cassette`)
    return { run, status: cassette.status, text: await cassette.text() }
  }
  const [off, all] = [await runOf('off'), await runOf('all')]
  expect(off.run.answer).toBe('Noted.')
  expect(off.run.steps[1]).not.toHaveProperty('params')
  expect((off.run.steps[1] as { result: object }).result).toEqual({
    success: true,
    tool_name: 'note',
    execution_time_ms: expect.any(Number),
  })
  expect([off.status, off.text]).toEqual([409, expect.stringContaining('storage.payloads')])
  expect(all.run.steps[1]).toMatchObject({ params: { text: 'a', password: '[redacted]' } })
  expect(all.status).toBe(200)
})

test('an unknown row is not found', async () => {
  const { get } = await openYard()
  for (const id of ['none:1', 'x', '%00:1', ':']) expect((await get(`/audit/${id}`)).status).toBe(404)
})

test('chats are listed with their last question, and shown without secrets', async () => {
  const { url } = await openScriptedServer(['Fine.', 'Good.'])
  const ask = async (chat: string, text: string) => {
    const message = { id: text, role: 'user', parts: [{ type: 'text', text }] }
    const body = JSON.stringify({ id: chat, messages: [message], trigger: 'submit-message' })
    const headers = { 'content-type': 'application/json' }
    await (await fetch(`${url}/api/ai-sdk/chat`, { method: 'POST', headers, body })).text()
  }
  await ask('first', 'My key is ty_abcdefgh1234')
  await ask('second', 'How are "you"?')
  const page = (await (await fetch(`${url}/api/chats?limit=1`)).json()) as { chats: ShownChat[]; next: string }
  expect(page.chats).toMatchObject([{ id: 'second', caller: 'local', turns: 1, question: 'How are "you"?' }])
  const rest = (await (await fetch(`${url}/api/chats?limit=1&cursor=${page.next}`)).json()) as { chats: ShownChat[] }
  expect(rest.chats).toMatchObject([{ id: 'first', question: 'My key is [redacted]' }])
  const { turns } = (await (await fetch(`${url}/api/chats/first?caller=local`)).json()) as ChatView
  expect(turns[0]?.messages).toMatchObject([
    { role: 'user', content: 'My key is [redacted]' },
    { role: 'assistant', content: 'Fine.' },
  ])
  const run = await (await fetch(`${url}/api/runs/${turns[0]?.run_id}`)).json()
  expect(run).toMatchObject({ question: 'My key is [redacted]', answer: 'Fine.' })
  expect((await fetch(`${url}/api/chats/none?caller=local`)).status).toBe(404)
})

test.each([{}, { TOOLYARD_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }])(
  'a response is not a chat that others read (%j)',
  async (env) => {
    const { url } = await openScriptedServer(['Fine.'], { env })
    const body = JSON.stringify({ model: 'scripted:turns', input: 'How are you?' })
    const headers = { 'content-type': 'application/json' }
    const made = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body })
    const { id } = (await made.json()) as { id: string }
    expect((await fetch(`${url}/v1/responses/${id}`)).status).toBe(200)
    expect(await (await fetch(`${url}/api/chats`)).json()).toEqual({ chats: [] })
    expect((await fetch(`${url}/api/chats/${id}?caller=local`)).status).toBe(404)
  },
)

test.each([
  ['off', false],
  ['errors', false],
  ['all', true],
] as const)('a chat shows parameters and results of calls with payloads %s: %s', async (payloads, shown) => {
  const tools = { note: () => 'stored-text' }
  const { url } = await openScriptedServer([noted, 'Noted.'], { tools, config: { storage: { payloads } } })
  const message = { id: '1', role: 'user', parts: [{ type: 'text', text: 'Take a note' }] }
  const body = JSON.stringify({ id: 'first', messages: [message], trigger: 'submit-message' })
  const headers = { 'content-type': 'application/json' }
  await (await fetch(`${url}/api/ai-sdk/chat`, { method: 'POST', headers, body })).text()
  const text = await (await fetch(`${url}/api/chats/first?caller=local`)).text()
  expect(text).toContain('Noted.')
  expect(text).not.toContain('hunter2')
  expect([text.includes('stored-text'), text.includes('[redacted]')]).toEqual([shown, shown])
})
