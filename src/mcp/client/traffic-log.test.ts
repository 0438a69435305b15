import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { ManualClock } from '../../testing/stand-ins.ts'
import { TrafficLog } from './traffic-log.ts'

/** A transport with private state, as those of the SDK have. */
class FakeTransport implements Transport {
  readonly #sent: JSONRPCMessage[] = []
  onmessage?: NonNullable<Transport['onmessage']>

  get sent(): readonly JSONRPCMessage[] {
    return this.#sent
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    this.#sent.push(message)
  }

  async close(): Promise<void> {}
}

function open() {
  const clock = new ManualClock()
  const log = new TrafficLog(clock)
  const inner = new FakeTransport()
  const tapped = log.tap(inner)
  const got: JSONRPCMessage[] = []
  tapped.onmessage = (message) => got.push(message)
  const receive = (message: object) => inner.onmessage?.(message as JSONRPCMessage)
  const send = (message: object) => tapped.send(message as JSONRPCMessage)
  return { clock, log, inner, tapped, got, receive, send }
}

test('records requests with their responses, and passes all messages on', async () => {
  const { clock, log, inner, tapped, got, receive, send } = open()
  await send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { password: 'hunter2' } })
  clock.advance(25)
  receive({ jsonrpc: '2.0', id: 1, result: { ok: true } })
  receive({ jsonrpc: '2.0', id: 1, method: 'ping' })
  receive({ jsonrpc: '2.0', method: 'notifications/progress', params: {} })
  receive({ jsonrpc: '2.0', id: 9, error: { code: -1, message: 'No' } })
  expect(log.messages).toMatchObject([
    { direction: 'sent', kind: 'request', method: 'tools/call', id: '1', content: '{"password":"[redacted]"}' },
    { direction: 'received', kind: 'response', method: 'tools/call', ms: 25, content: '{"ok":true}' },
    { direction: 'received', kind: 'request', method: 'ping', id: '1' },
    { direction: 'received', kind: 'notification', method: 'notifications/progress' },
    { direction: 'received', kind: 'error', id: '9', content: '{"code":-1,"message":"No"}' },
  ])
  expect([inner.sent.length, got.length, tapped instanceof FakeTransport]).toEqual([1, 4, true])
})

test('records no keys in methods and ids', () => {
  const { log, receive } = open()
  const key = `ty_${'aB3'.repeat(14)}x`
  receive({ jsonrpc: '2.0', id: key, method: `tool_${key}`, params: {} })
  expect(log.messages).toMatchObject([{ id: '[redacted]', method: 'tool_[redacted]' }])
})

test('its memory is bounded in messages, characters and open requests', async () => {
  const { log, receive, send } = open()
  for (let id = 0; id < 3_000; id++) await send({ jsonrpc: '2.0', id, method: 'm', params: {} })
  expect(log.messages).toHaveLength(200)
  const texts = Array.from({ length: 20 }, () => 'x'.repeat(2_000))
  for (let id = 0; id < 300; id++) receive({ jsonrpc: '2.0', method: 'n', params: { texts } })
  const characters = log.messages.reduce((sum, { content }) => sum + content.length, 0)
  expect(characters).toBeLessThan(500_001)
})

test('records requests over HTTP by method, status and time only', async () => {
  const { clock, log } = open()
  const fetch = log.watch(async (url) => {
    clock.advance(5)
    if (String(url).endsWith('/fails')) throw new Error('refused')
    return new Response('', { status: 202 })
  })
  await fetch('http://127.0.0.1/secret?key=1', { method: 'POST' })
  await expect(fetch('http://127.0.0.1/fails')).rejects.toThrow('refused')
  expect(log.requests).toMatchObject([
    { method: 'POST', status: 202, ms: 5 },
    { method: 'GET', ms: 5 },
  ])
  expect(JSON.stringify(log.requests)).not.toContain('127.0.0.1')
})

test('records output that is not a message, without secrets', () => {
  const { clock, log } = open()
  clock.advance(5)
  log.noise('Loading… Bearer abcdefghijk')
  expect(log.messages).toEqual([
    { number: 1, at: clock.wall(), direction: 'received', kind: 'noise', content: '"Loading… [redacted]"' },
  ])
})
