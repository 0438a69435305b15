import { expect, test, vi } from 'vitest'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'

const call = { calls: [{ name: 'pay' }] }

test.each([
  ['/chat', { message: 'Pay' }],
  ['/api/tools/test', { model: 'scripted:turns', query: 'Pay' }],
  ['/v1/chat/completions', { model: 'scripted:turns', messages: [{ role: 'user', content: 'Pay' }] }],
])('%s runs no call that needs approval', async (path, body) => {
  const pay = vi.fn(() => 'paid')
  const { url, model, installation } = await openScriptedServer([call, 'It waits.'], {
    tools: { pay },
    definition: { approval: true },
  })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('It waits.')])
  expect(pay).not.toHaveBeenCalled()
  expect(JSON.stringify(model.requests)).toContain('runs only with approval')
  const { pauses } = await installation.storage.pauses.list({ tenant: 'local', now: 0, limit: 9 })
  expect(pauses).toMatchObject([{ tool: 'pay', decision: null }])
})

test('/chat refuses a requested call that needs approval, and asks no model', async () => {
  const pay = vi.fn(() => 'paid')
  const { url, model } = await openScriptedServer([], { tools: { pay }, definition: { approval: true } })
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ message: 'Pay', tool_name: 'pay', tool_params: {} })
  const response = await fetch(`${url}/chat`, { method: 'POST', headers, body })
  expect([response.status, await response.json()]).toEqual([
    403,
    expect.objectContaining({ error_code: 'APPROVAL_REQUIRED', details: { approval: expect.anything() } }),
  ])
  expect([pay.mock.calls, model.requests]).toEqual([[], []])
})
