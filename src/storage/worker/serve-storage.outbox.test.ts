import { MessageChannel } from 'node:worker_threads'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type News, plainFields } from './messages.ts'
import { Outbox } from './serve-storage.ts'

let channel: MessageChannel
let news: News[]
let outbox: Outbox

beforeEach(() => {
  channel = new MessageChannel()
  news = []
  channel.port2.on('message', (message: News) => news.push(message))
  outbox = new Outbox(channel.port1)
})

afterEach(() => channel.port1.close())

const arrived = (count: number) => vi.waitFor(() => expect(news.length).toBe(count))

it('sends everything of one turn as one message', async () => {
  outbox.reply({ id: 1, value: 'one' })
  outbox.change('keys')
  outbox.reply({ id: 2, error: { code: 'TIMEOUT', message: 'late' } })
  outbox.log({ level: 'info', fields: {}, message: 'hello' })
  await arrived(1)
  expect(news[0]).toEqual({
    type: 'news',
    replies: [
      { id: 1, value: 'one' },
      { id: 2, error: { code: 'TIMEOUT', message: 'late' } },
    ],
    changes: ['keys'],
    logs: [{ level: 'info', fields: {}, message: 'hello' }],
  })
  outbox.reply({ id: 3, value: undefined })
  await arrived(2)
  expect(news[1]?.replies).toEqual([{ id: 3, value: undefined }])
})

it('answers all requests if one reply cannot be sent', async () => {
  outbox.reply({ id: 1, value: 'one' })
  outbox.reply({ id: 2, value: () => 'a function' })
  outbox.change('keys')
  await arrived(1)
  const error = { code: 'EXECUTION_ERROR', message: 'The store failed: see the server log' }
  expect(news[0]?.replies).toEqual([
    { id: 1, value: 'one' },
    { id: 2, error },
  ])
  expect(news[0]?.changes).toEqual(['keys'])
})

it('makes plain data of the fields of a log line', () => {
  const cause = Object.assign(new Error('the cause'), { code: 'EIO' })
  const fields = plainFields({ err: new TypeError('wrong', { cause }), count: 1, run: () => {} })
  expect(fields).toEqual({
    err: {
      type: 'TypeError',
      message: 'wrong',
      stack: expect.stringContaining('outbox.test.ts'),
      cause: { type: 'Error', message: 'the cause', code: 'EIO', stack: expect.any(String) },
    },
    count: 1,
  })
  const circular: { self?: unknown } = {}
  circular.self = circular
  expect(plainFields(circular)).toEqual({})
})
