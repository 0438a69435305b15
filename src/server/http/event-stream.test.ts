import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ManualClock } from '../../testing/stand-ins.ts'
import { EventStream } from './event-stream.ts'

/** A stream, and the client at its other end, which reads nothing until it is told to. */
async function streamYard() {
  const clock = new ManualClock()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const opened = new Promise<{ stream: EventStream; response: ServerResponse }>((resolve) => {
    server.once('request', (_request, response) => {
      response.writeHead(200)
      resolve({ stream: new EventStream(response, clock), response })
    })
  })
  const client = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  client.on('error', () => {})
  client.end()
  const [incoming] = (await once(client, 'response')) as [IncomingMessage]
  incoming.on('error', () => {})
  return { clock, incoming, client, ...(await opened) }
}

const text = async (incoming: IncomingMessage) => (await incoming.setEncoding('utf8').toArray()).join('')

test('events are written as JSON with their names, and text as it stands', async () => {
  const { stream, incoming } = await streamYard()
  await stream.send('progress', { half: true, words: 'two\nlines' })
  await stream.sendText('[DONE]')
  stream.end()
  expect(await text(incoming)).toBe('event: progress\ndata: {"half":true,"words":"two\\nlines"}\n\ndata: [DONE]\n\n')
  expect(stream.signal.aborted).toBe(true)
})

test('a quiet stream says every 15 seconds that it is still there, and no more when it has ended', async () => {
  const { stream, incoming, clock } = await streamYard()
  clock.advance(14_999)
  clock.advance(1)
  clock.advance(15_000)
  stream.end()
  expect(clock.pending).toBe(0)
  expect(await text(incoming)).toBe(': still here\n\n: still here\n\n')
})

test('the signal aborts when the client has gone, and sending to it fails nothing', async () => {
  const { stream, client, clock } = await streamYard()
  const gone = once(stream.signal, 'abort')
  client.destroy()
  await gone
  await stream.send('progress', 1)
  stream.end()
  expect(clock.pending).toBe(0)
})

test('send waits for a slow client until it has caught up', async () => {
  const { stream, incoming, response } = await streamYard()
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  // What the machine takes in between is filled up first.
  while (!response.writableNeedDrain) {
    void stream.send('bulk', 'x'.repeat(100_000))
    for (let index = 0; index < 3; index++) await turn()
  }
  let isBehind = true
  const waited = stream.send('last', 1).then(() => {
    isBehind = false
  })
  for (let index = 0; index < 3; index++) await turn()
  expect(isBehind).toBe(true)
  incoming.resume()
  await waited
  stream.end()
  await once(incoming, 'end')
})

test('a client that takes nothing for 30 seconds is cut off', async () => {
  const { stream, clock, response } = await streamYard()
  const gone = once(stream.signal, 'abort')
  while (response.writableLength < 100_000) {
    void stream.send('bulk', 'x'.repeat(100_000))
    await new Promise((resolve) => setImmediate(resolve))
  }
  clock.advance(29_999)
  expect(stream.signal.aborted).toBe(false)
  clock.advance(1)
  await gone
})

test('a client for which more than 1 MB waits is cut off', async () => {
  const { stream, response } = await streamYard()
  const gone = once(stream.signal, 'abort')
  await vi.waitFor(() => {
    void stream.send('bulk', 'x'.repeat(500_000))
    expect(response.destroyed).toBe(true)
  })
  await gone
})
