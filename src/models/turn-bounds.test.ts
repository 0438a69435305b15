import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { createGzip, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ModelEvent } from './model.ts'
import { openProvider } from './providers/open-provider.ts'
import { TurnBounds } from './turn-bounds.ts'

const SPACES = gzipSync(Buffer.alloc(1024 * 1024, ' '))
const delta = (content: string) =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`

let answer: (response: ServerResponse) => void = () => {}
let asked = 0
let base_url = ''
const server = createServer((request, response) => {
  asked++
  request.resume()
  answer(response)
})
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => {
  asked = 0
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const endless = (piece: string | Buffer) =>
  Readable.from(
    (function* () {
      for (;;) yield piece
    })(),
  )
const gzip = (type: string) => ({ 'content-type': type, 'content-encoding': 'gzip' })

describe('a provider that answers without end', () => {
  const bomb = (status: number, type: string) => (response: ServerResponse) => {
    response.writeHead(status, gzip(type))
    pipeline(endless(SPACES), response, () => {})
  }
  const flood = (response: ServerResponse) => {
    response.writeHead(200, gzip('text/event-stream'))
    pipeline(endless(delta('A'.repeat(100_000))), createGzip({ level: 1 }), response, () => {})
  }
  const failure = async (type: string) => {
    const provider = await openProvider({ type, base_url })
    return provider.generateChat([{ role: 'user', content: 'Hi' }], 'm').catch((error: unknown) => error)
  }

  test.each([
    ['openai', bomb(200, 'text/event-stream'), '16777216 bytes in one line'],
    ['openai', flood, '4194304 characters'],
    ['openai', bomb(400, 'application/json'), '1048576 bytes'],
    ['ollama', bomb(200, 'application/x-ndjson'), '16777216 bytes in one line'],
    ['ollama', bomb(200, 'application/json'), '33554432 bytes'],
  ])('fails once, with a clear message (%s, %o, %s)', async (type, how, what) => {
    answer = how
    expect(await failure(type)).toMatchObject({
      message: `${type}:m: The model answered with more than ${what}, which is over the limit. Ask for less.`,
      status: 502,
      retryable: false,
    })
    expect(asked).toBe(1)
  })

  test('fails too if it does so in the list of models', async () => {
    answer = bomb(200, 'application/json')
    const provider = await openProvider({ type: 'openai', base_url })
    await expect(provider.list(new AbortController().signal)).rejects.toThrow('more than 33554432 bytes')
  })
})

describe('a turn', () => {
  const take = (...events: ModelEvent[]) => {
    const bounds = new TurnBounds()
    for (const event of events) bounds.check(event)
  }
  const call = (size: number): ModelEvent => {
    const made = { name: 'x', arguments: 'x'.repeat(size) }
    return { type: 'tool-call-end', call: { id: '1', type: 'function', function: made } }
  }
  const start: ModelEvent = { type: 'tool-call-start', id: '1', name: 'x' }

  test('is limited in its text, its calls and their arguments', () => {
    const text: ModelEvent = { type: 'text-delta', text: 'x'.repeat(1024 * 1024) }
    expect(() => take(text, text, text, text)).not.toThrow()
    expect(() => take(text, text, text, text, { type: 'text-delta', text: 'x' })).toThrow('4194304 characters')
    expect(() => take(call(1024 * 1024))).not.toThrow()
    expect(() => take(call(1024 * 1024 + 1))).toThrow('1048576 characters of arguments')
    const piece: ModelEvent = { type: 'tool-call-delta', id: '1', text: 'x'.repeat(3 * 1024 * 1024) }
    expect(() => take(piece, piece)).toThrow('4194304 characters')
    expect(() => take(...new Array<ModelEvent>(512).fill(start))).not.toThrow()
    expect(() => take(...new Array<ModelEvent>(513).fill(start))).toThrow('512 calls')
  })
})
