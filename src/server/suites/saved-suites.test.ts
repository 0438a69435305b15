import { expect, test } from 'vitest'
import type { FileCase } from '../../validation/suites/suite.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'
import type { KnownSuite } from '../http/views.ts'

async function openYard() {
  const server = await openToolServer({ add: async () => ({ sum: 3 }) })
  const send = async (method: string, path: string, body?: unknown) => {
    const headers = { ...(body !== undefined && { 'content-type': 'application/json' }) }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await fetch(`${server.url}/api/suites/saved/${path}`, init)
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  await server.call('add', { a: 1, $odd: 2 })
  const [row] = await server.records()
  return { ...server, send, callId: String(row?.id) }
}

test('a call becomes a case of a suite, which is listed and can be edited and removed', async () => {
  const { send, get, callId } = await openYard()
  const { status, body } = await send('POST', 'my-tests/cases', { call_id: callId })
  expect([status, body]).toEqual([
    201,
    {
      suite: 'saved/my-tests',
      case: {
        id: 'call-add',
        query: 'Call the tool add with {"a":1,"$odd":2}',
        tools: ['add'],
        mocks: { add: { sum: 3 } },
        expect: { calls: [{ tool: 'add', params: { a: 1, $odd: 2 } }] },
      },
    },
  ])
  const again = await send('POST', 'my-tests/cases', { call_id: callId })
  expect(again.body.case.id).toBe('call-add-2')
  const { suites } = (await (await get('/api/suites')).json()) as { suites: KnownSuite[] }
  expect(suites).toContainEqual({ id: 'saved/my-tests', kind: 'saved', name: 'my-tests', cases: 2 })
  const edited: FileCase = { ...body.case, query: 'What is 1 + 2?' }
  expect((await send('PUT', 'my-tests/cases/call-add', edited)).status).toBe(200)
  expect((await send('GET', 'my-tests')).body.cases[0].query).toBe('What is 1 + 2?')
  expect((await send('DELETE', 'my-tests/cases/call-add-2')).status).toBe(204)
  expect((await send('DELETE', 'my-tests/cases/call-add')).status).toBe(204)
  expect((await send('GET', 'my-tests')).status).toBe(404)
  const events = (await (await get('/audit?type=event&limit=20')).json()) as { rows: { event: string }[] }
  expect(events.rows.filter(({ event }) => event === 'suite.changed')).toHaveLength(5)
})

test('a case that can not be run is refused, and changes nothing', async () => {
  const { send, callId } = await openYard()
  await send('POST', 'my-tests/cases', { call_id: callId })
  const wrong = await send('PUT', 'my-tests/cases/call-add', { query: 'x', expect: {} })
  expect([wrong.status, wrong.body.error]).toEqual([400, expect.stringMatching(/expect/)])
  expect(wrong.body.error).not.toContain('/')
  expect((await send('GET', 'my-tests')).body.cases[0].expect.calls).toHaveLength(1)
  expect((await send('POST', 'other/cases', { case: { query: '' } })).status).toBe(400)
  expect((await send('GET', 'other')).status).toBe(404)
  expect((await send('POST', 'Not a name/cases', { call_id: callId })).status).toBe(400)
  expect((await send('POST', 'my-tests/cases', { call_id: 'none:1' })).status).toBe(404)
  expect((await send('PUT', 'my-tests/cases/none', { query: 'x', expect: { no_call: true } })).status).toBe(404)
})

test('cases that are saved at once are all stored', async () => {
  const { send } = await openYard()
  const made = { query: 'x', expect: { no_call: true } }
  const all = await Promise.all([1, 2, 3, 4].map(() => send('POST', 'many/cases', { case: made })))
  expect(new Set(all.map(({ body }) => body.case.id)).size).toBe(4)
  expect((await send('GET', 'many')).body.cases).toHaveLength(4)
})
