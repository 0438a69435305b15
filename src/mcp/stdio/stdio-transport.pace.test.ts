import { afterEach, expect, it } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { until } from '../fixtures/running.ts'
import { StdioTransport } from './stdio-transport.ts'

/** Writes notifications as fast as they are read, then one answer. */
const FLOOD = `
const { writeSync } = require('node:fs')
const line = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } })
const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} })
process.stdin.once('data', async () => {
  const write = (text) => new Promise((done) => process.stdout.write(text, done))
  for (let n = 0; n < 200; n++) await write((line + '\\n').repeat(100))
  await write(answer + '\\n')
})
`

let transport: StdioTransport
afterEach(() => transport.close())

it('slows down a server that floods the client with notifications', async () => {
  const clock = new ManualClock()
  transport = new StdioTransport({ command: process.execPath, args: ['-e', FLOOD], log: silentLog, clock })
  let [notifications, answers] = [0, 0]
  transport.onmessage = (message) => void ('method' in message ? notifications++ : answers++)
  await transport.start()
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' })
  await until(() => notifications > 1_000)
  const afterWindow = notifications
  // A chunk holds several hundred of them.
  expect(afterWindow).toBeLessThan(2_500)
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect([notifications, answers]).toEqual([afterWindow, 0])
  for (let windows = 0; answers === 0 && windows < 100; windows++) {
    const before = notifications
    clock.advance(1_000)
    await until(() => notifications > before || answers > 0)
  }
  expect([notifications, answers]).toEqual([20_000, 1])
})
