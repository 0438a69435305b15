import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTestServer } from '../fixtures/open-server.ts'
import { toolConfig } from '../fixtures/open-tool-server.ts'
import { webhookSignature } from './webhooks.ts'

test('signed news of asking and deciding reach the webhook, with retries and without parameters', async () => {
  const received: { headers: IncomingHttpHeaders; body: string }[] = []
  const receiver = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    received.push({ headers: request.headers, body })
    response.writeHead(received.length === 1 ? 500 : 204).end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void receiver.close())
  const { port } = receiver.address() as AddressInfo
  const { config, handlers } = toolConfig({ pay: { run: () => 1, approval: true } })
  const webhook = { url: `http://127.0.0.1:${port}/hook`, secret: 'shared secret' }
  const server = await openTestServer({ ...config, approvals: { webhook } }, { handlers })
  onTestFinished(() => server.close())
  const post = async (path: string, key: string, body: object) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    return JSON.parse(
      await (await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).text(),
    )
  }
  const asked = { tool_name: 'pay', params: { account: 'private account' } }
  const { id } = (await post('/tools/execute', await server.key('acme', 'user'), asked)).details.approval
  await vi.waitUntil(() => received.length >= 2, { timeout: 60_000 })
  await post(`/api/approvals/${id}`, await server.key('acme', 'operator'), {
    decision: 'reject',
    reason: 'private reason',
  })
  await vi.waitUntil(() => received.length >= 3, { timeout: 60_000 })

  const [failed, first, second] = received.map(({ body }) => JSON.parse(body))
  expect(failed).toEqual(first)
  expect(first).toMatchObject({ type: 'approval.asked', id, tenant: 'acme', tool: 'pay', status: 'pending' })
  expect(second).toMatchObject({ type: 'approval.decided', id, status: 'rejected', decided_at: expect.any(String) })
  for (const { headers, body } of received) {
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const signature = createHmac('sha256', webhook.secret).update(signed).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${signature}`)
    expect(body).not.toContain('private')
  }
  expect(JSON.stringify(server.log.lines)).not.toMatch(/shared secret|\/hook/)
})

test('signs like the libraries of Standard Webhooks', () => {
  const signed = 'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}'
  expect(webhookSignature('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', signed)).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
})

test('a receiver that is down holds no place of a job', async () => {
  const { config, handlers } = toolConfig({ pay: { run: () => 1, approval: true } })
  const webhook = { url: 'http://127.0.0.1:1/hook', secret: 'shared secret' }
  const server = await openTestServer({ ...config, approvals: { webhook } }, { handlers })
  onTestFinished(() => server.close())
  const headers = { 'x-api-key': await server.key('acme', 'user'), 'content-type': 'application/json' }
  const body = JSON.stringify({ tool_name: 'pay', params: {} })
  await fetch(`${server.url}/tools/execute`, { method: 'POST', headers, body })
  const ended = async () => {
    const [job] = (await server.installation.storage.jobs.list('acme', 10)).toReversed()
    return job?.ended_at ?? null
  }
  await vi.waitUntil(async () => (await ended()) !== null, { timeout: 60_000 })
})
