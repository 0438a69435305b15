import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { DeadlineWheel } from '../../../core/deadline-wheel.ts'
import { ManualClock } from '../../../testing/index.ts'
import { selfSigned } from '../network/fixtures/self-signed.ts'
import { guardedAgent } from '../network/guarded-agent.ts'
import { NetworkRules } from '../network/network-rules.ts'
import { failureOf } from './fixtures/failure-of.ts'
import { Service } from './fixtures/service.ts'
import { send } from './send.ts'

const UNAVAILABLE = "The service behind tool 'weather' is unavailable. Try again later."
const LEFT = { code: 'SERVICE_UNAVAILABLE', message: UNAVAILABLE, extras: { outcome: 'unknown' }, repeat: {} }

let service: Service | undefined

const http = async (listener: Parameters<typeof Service.http>[0]): Promise<Service> => {
  service = await Service.http(listener)
  return service
}

const raw = async (answer: Parameters<typeof Service.raw>[0]): Promise<Service> => {
  service = await Service.raw(answer)
  return service
}

afterEach(async () => {
  await service?.close()
  service = undefined
})

describe('an answer', () => {
  test('comes whole, with its status, its headers in lower case and where it came from', async () => {
    const weather = await http((_, response) => {
      response.writeHead(201, { 'Content-Type': 'text/plain', 'X-Twice': ['a', 'b'] })
      response.write('one, ')
      setImmediate(() => response.end('two'))
    })

    const { headers, ...answer } = await weather.ask('/here?x=1')

    expect(answer).toEqual({ status: 201, body: Buffer.from('one, two'), origin: weather.origin, path: '/here' })
    expect(headers).toMatchObject({ 'content-type': 'text/plain', 'x-twice': 'a, b' })
  })

  test('sends method, path, headers and body', async () => {
    const weather = await http((request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => response.end(JSON.stringify([request.method, request.url, request.headers['x-a'], body])))
    })

    const request = weather.request('/put?a=b', { method: 'PUT', headers: { 'x-a': '1' }, body: '{"ü":1}' })
    const { body } = await send(request, weather.options())

    expect(JSON.parse(body.toString())).toEqual(['PUT', '/put?a=b', '1', '{"ü":1}'])
  })

  test('without a body is an empty one', async () => {
    const weather = await http((_, response) => response.writeHead(204).end())
    expect((await weather.ask('/')).body).toHaveLength(0)
  })

  test('may be announced by others', async () => {
    const weather = await http((_, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      response.writeProcessing()
      response.end('final')
    })

    const { status, body } = await weather.ask('/')

    expect([status, body.toString()]).toEqual([200, 'final'])
    expect(await weather.isWell()).toBe(true)
  })

  test('is not waited for among announcements that never end', async () => {
    const clock = new ManualClock()
    let announcements = 0
    const weather = await raw(async (socket) => {
      while (!socket.destroyed) {
        socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')
        await new Promise((resolve) => setImmediate(resolve))
        if (++announcements === 20) clock.advance(10_000)
      }
    })
    const bounds = { clock, wheel: new DeadlineWheel(clock), timeoutMs: 10_000 }

    await expect(weather.ask('/', bounds)).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(await weather.isWell()).toBe(true)
  })
})

describe('a service that misbehaves fails its own call and no other', () => {
  const cases: readonly (readonly [string, string, object])[] = [
    ['closes without an answer', '', LEFT],
    ['closes in the middle of the headers', 'HTTP/1.1 200 OK\r\nconte', LEFT],
    ['closes before the end that it promised', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345', LEFT],
    ['closes between two chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12345\r\n', LEFT],
    ['says twice how long it is', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\n12345', LEFT],
    [
      'contradicts itself about its length',
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n12345',
      LEFT,
    ],
    [
      'gives a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n',
      LEFT,
    ],
    [
      'speaks something else',
      'SSH-2.0-OpenSSH_9.9\r\n',
      { ...LEFT, message: `${UNAVAILABLE} Its answer was not HTTP.` },
    ],
    [
      'switches to another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      LEFT,
    ],
    [
      'switches without saying to what',
      'HTTP/1.1 101 Switching\r\n\r\n',
      {
        code: 'EXECUTION_ERROR',
        message: "The service behind tool 'weather' sent an unreadable answer",
        extras: { outcome: 'unknown' },
        repeat: undefined,
      },
    ],
    [
      'sends more headers than anyone needs',
      `HTTP/1.1 200 OK\r\n${'x-flood: 0123456789abcdef0123456789abcdef\r\n'.repeat(1_000)}\r\n`,
      {
        code: 'EXECUTION_ERROR',
        message: "The service behind tool 'weather' answered with too many headers",
        extras: { outcome: 'unknown' },
        repeat: undefined,
      },
    ],
    [
      'sends one endless header',
      `HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(100_000)}\r\n\r\n`,
      {
        code: 'EXECUTION_ERROR',
        message: "The service behind tool 'weather' answered with too many headers",
        extras: { outcome: 'unknown' },
        repeat: undefined,
      },
    ],
  ]

  test.each(cases)('%s', async (_, answer, failure) => {
    const weather = await raw((socket) => socket.end(answer))
    expect(await failureOf(weather.ask('/'))).toEqual(failure)
    expect(await weather.isWell()).toBe(true)
  })

  test('resets the connection', async () => {
    const weather = await raw((socket) => socket.resetAndDestroy())
    expect(await failureOf(weather.ask('/'))).toEqual(LEFT)
    expect(await weather.isWell()).toBe(true)
  })

  test('never sees a request that could not be sent', async () => {
    const closed = await raw(() => undefined)
    const { origin } = closed
    await closed.close()
    const rules = new NetworkRules({ allow_private: ['127.0.0.1/32'] })
    const agent = guardedAgent(rules.addresses, { lookup: async () => ['127.0.0.1'] })
    const request = { method: 'POST', origin, path: '/', headers: {} } as const

    expect(await failureOf(send(request, closed.options({ agent })))).toEqual({
      code: 'SERVICE_UNAVAILABLE',
      message: UNAVAILABLE,
      extras: {},
      repeat: { neverLeft: true },
    })
    await agent.destroy()
  })

  test('is not called if its address is refused, and the error hides the address', async () => {
    const weather = await raw(() => undefined)
    const agent = guardedAgent(new NetworkRules({}).addresses, { lookup: async () => ['127.0.0.1'] })

    const failed = await failureOf(weather.ask('/', { agent }))

    expect(failed).toEqual({ ...failed, code: 'EXECUTION_ERROR', extras: {}, repeat: undefined })
    expect(failed.message).toContain("The host 'api.test' was refused")
    expect(failed.message).not.toContain('127.0.0.1')
    expect(weather.asked).toEqual([])
    await agent.destroy()
  })

  test('is not called if its certificate is not trusted', async () => {
    const weather = await http((_, response) => response.end())
    const server = createServer(selfSigned('api.test'), (_, response) => response.end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const request = weather.request('/', { origin: `https://api.test:${port}` })

    expect(await failureOf(send(request, weather.options()))).toEqual({
      code: 'SERVICE_UNAVAILABLE',
      message: `${UNAVAILABLE} Its certificate is not trusted.`,
      extras: {},
      repeat: { neverLeft: true },
    })
    server.close()
  })

  test('is not asked with a request that is not HTTP', async () => {
    const weather = await http((_, response) => response.end())
    const request = weather.request('/', { headers: { 'x-secret': 'hunter22\r\nx: y' } })

    const failed = await failureOf(send(request, weather.options()))

    expect(failed).toEqual({ ...failed, code: 'EXECUTION_ERROR', extras: {}, repeat: undefined })
    expect(failed.message).not.toContain('hunter22')
    expect(await weather.isWell()).toBe(true)
  })
})

describe('compression', () => {
  test('is requested over https unless the tool sets its own header', async () => {
    const seen: unknown[] = []
    const agent = {
      dispatch: ({ headers }: { headers: unknown }, handler: { onResponseError(c: null, error: Error): void }) => {
        seen.push(headers)
        handler.onResponseError(null, Object.assign(new Error(), { code: 'ECONNREFUSED' }))
      },
    }
    const weather = await http((_, response) => response.end())
    const options = weather.options({ agent: agent as never })
    const far = { origin: 'https://api.test' }
    const own = { headers: { 'accept-encoding': 'identity' } }
    for (const more of [{}, far, { ...far, ...own }]) {
      await expect(send(weather.request('/', more), options)).rejects.toMatchObject({ repeat: { neverLeft: true } })
    }
    expect(seen).toEqual([{}, { 'accept-encoding': 'gzip, deflate, br, zstd' }, { 'accept-encoding': 'identity' }])
  })
})
