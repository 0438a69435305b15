import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openToolServer } from '../fixtures/open-tool-server.ts'

/** Opens a connection and sends a request. Returns the start of the response, or '' if the connection is closed. */
async function knock(url: string): Promise<{ socket: Socket; start: string }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [chunk] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [Buffer | boolean]
  return { socket, start: chunk instanceof Buffer ? chunk.toString().slice(0, 12) : '' }
}

test('closes connections of an address beyond the limit, and logs it once', async () => {
  const { url, log } = await openToolServer({}, { server: { connections_per_address: 2 } })
  const [first, second] = [await knock(url), await knock(url)]
  expect([first.start, second.start]).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
  expect([(await knock(url)).start, (await knock(url)).start]).toEqual(['', ''])
  const warnings = log.lines.filter(({ message }) => message.includes('server.connections_per_address'))
  expect(warnings.map(({ fields }) => fields)).toEqual([{ address: '127.0.0.1', connections: 2 }])
  first.socket.destroy()
  await expect.poll(async () => (await knock(url)).start).toBe('HTTP/1.1 200')
})

test('does not limit trusted proxies', async () => {
  const server = { connections_per_address: 1, trusted_proxies: ['127.0.0.1'] }
  const { url } = await openToolServer({}, { server })
  const starts = [await knock(url), await knock(url), await knock(url)].map(({ start }) => start)
  expect(starts).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 200'])
})

test.each([
  ['answers all of 20 requests', 20, true],
  ['closes the connection after the first of 2,000 requests', 2_000, false],
])('%s that a client sends before it reads an answer', async (_what, sent, isAll) => {
  const { url } = await openToolServer({})
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  const one = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'
  socket.write(one.repeat(sent - 1) + one.replace('Host', 'Connection: close\r\nHost'))
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  await new Promise((resolve) => socket.on('close', resolve))
  const answers = text.split('HTTP/1.1 200').length - 1
  expect(isAll ? answers === sent : answers <= 32).toBe(true)
})
