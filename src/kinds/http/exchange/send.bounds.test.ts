import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { Cancellation } from '../../../core/cancellation.ts'
import { DeadlineWheel } from '../../../core/deadline-wheel.ts'
import { ManualClock } from '../../../testing/index.ts'
import { guardedAgent } from '../network/guarded-agent.ts'
import { NetworkRules } from '../network/network-rules.ts'
import { failureOf } from './fixtures/failure-of.ts'
import { Service } from './fixtures/service.ts'
import { send } from './send.ts'

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

/** Runs it when this process has had time to read what was written before, however busy the machine is. */
function afterTurns(work: () => void, turns = 50): void {
  setImmediate(() => (turns === 0 ? work() : afterTurns(work, turns - 1)))
}

describe('the size of an answer', () => {
  const TOO_LARGE = {
    code: 'RESULT_TOO_LARGE',
    message:
      "The service behind tool 'weather' answered with more than 1000 bytes: request less, or raise max_response_bytes",
    extras: { outcome: 'unknown' },
  }

  test('is bounded, and the bound itself may be reached', async () => {
    const weather = await http((request, response) => response.end('x'.repeat(Number(request.url?.slice(1)))))
    expect((await weather.ask('/1000', { maxBytes: 1_000 })).body).toHaveLength(1_000)
    await expect(weather.ask('/1001', { maxBytes: 1_000 })).rejects.toMatchObject(TOO_LARGE)
    expect(await weather.isWell()).toBe(true)
  })

  test('is checked by content-length before the body is read', async () => {
    const weather = await raw((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n'))
    await expect(weather.ask('/', { maxBytes: 1_000 })).rejects.toMatchObject(TOO_LARGE)
    expect(await weather.isWell()).toBe(true)
  })

  test('ignores the content-length of a HEAD response', async () => {
    const weather = await http((_, response) => response.writeHead(200, { 'content-length': '1001' }).end())
    const request = weather.request('/', { method: 'HEAD' })
    expect((await send(request, weather.options({ maxBytes: 1_000 }))).headers['content-length']).toBe('1001')
  })

  test('is the same in whatever pieces it comes', async () => {
    const sizes = [1, 1, 700, 5_000, 3, 1_024, 1_025, 2, ...Array.from({ length: 300 }, () => 900), 9_000, 1]
    const pieces = sizes.map((size, index) => String.fromCharCode(97 + (index % 26)).repeat(size))
    const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')
    const weather = await raw((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`),
    )
    expect((await weather.ask('/')).body.toString()).toBe(pieces.join(''))
  })

  test('ends a body that has no end', async () => {
    const weather = await http((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(100)));
      }
      response.on('drain', more)
      more()
    })
    await expect(weather.ask('/', { maxBytes: 1_000 })).rejects.toMatchObject(TOO_LARGE)
    expect(await weather.isWell()).toBe(true)
  })

  test('counts decompressed bytes', async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000))
    const weather = await http((_, response) => response.setHeader('content-encoding', 'gzip').end(bomb))

    expect(bomb.length).toBeLessThan(50_000)
    await expect(weather.ask('/', { maxBytes: 100_000 })).rejects.toMatchObject({ code: 'RESULT_TOO_LARGE' })
    expect(await weather.isWell()).toBe(true)
  })
})

describe('the time that an answer takes', () => {
  const timed = async (answer: Parameters<typeof Service.raw>[0]) => {
    const clock = new ManualClock()
    return { clock, wheel: new DeadlineWheel(clock), weather: await raw(answer) }
  }

  test('times out without an answer', async () => {
    const { clock, wheel, weather } = await timed(() => clock.advance(5_000))
    expect(await failureOf(weather.ask('/', { clock, wheel, timeoutMs: 5_000 }))).toEqual({
      code: 'TIMEOUT',
      message: 'Tool execution timed out after 5000ms',
      extras: { outcome: 'unknown' },
      repeat: {},
    })
    expect(await weather.isWell()).toBe(true)
  })

  test('times out if the body never ends', async () => {
    const { clock, wheel, weather } = await timed((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n', () => clock.advance(5_000))
    })
    await expect(weather.ask('/', { clock, wheel, timeoutMs: 5_000 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(await weather.isWell()).toBe(true)
  })

  test('is bounded as a whole, however steadily it drips', async () => {
    let dripped = 0
    const { clock, wheel, weather } = await timed(async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      while (!socket.destroyed) {
        socket.write('1\r\nx\r\n')
        dripped++
        clock.advance(50)
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    await expect(weather.ask('/', { clock, wheel, timeoutMs: 5_000 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(dripped).toBeGreaterThanOrEqual(100)
    expect(await weather.isWell()).toBe(true)
  })

  test('is bounded up to its beginning, if that is asked for', async () => {
    const { clock, wheel, weather } = await timed(() => clock.advance(2_000))
    const bounds = { clock, wheel, timeoutMs: 5_000, firstByteTimeoutMs: 2_000 }
    await expect(weather.ask('/', bounds)).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: 'Tool execution timed out after 2000ms while waiting for an answer',
      cause: { message: 'the service did not answer the request' },
    })
    expect(await weather.isWell()).toBe(true)
  })

  test('does not begin with an announcement', async () => {
    const { clock, wheel, weather } = await timed((socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')
      afterTurns(() => clock.advance(2_000))
    })
    const bounds = { clock, wheel, timeoutMs: 5_000, firstByteTimeoutMs: 2_000 }
    expect(await failureOf(weather.ask('/', bounds))).toMatchObject({
      message: 'Tool execution timed out after 2000ms while waiting for an answer',
    })
    expect(await weather.isWell()).toBe(true)
  })

  test('may be longer than that once it has begun, up to the bound of the whole', async () => {
    const { clock, wheel, weather } = await timed((socket, head) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n1')
      afterTurns(() => {
        clock.advance(head.includes('/late') ? 5_000 : 4_000)
        socket.write('2')
      })
    })
    const bounds = { clock, wheel, timeoutMs: 5_000, firstByteTimeoutMs: 2_000 }
    expect((await weather.ask('/', bounds)).body.toString()).toBe('12')
    await expect(weather.ask('/late', bounds)).rejects.toMatchObject({
      message: 'Tool execution timed out after 5000ms',
    })
    expect(await weather.isWell()).toBe(true)
  })

  test('includes connecting, and then the request was not sent', async () => {
    const clock = new ManualClock()
    const weather = await http((_, response) => response.end())
    const { addresses } = new NetworkRules({})
    const agent = guardedAgent(addresses, { lookup: () => new Promise(() => undefined) })

    const asked = weather.ask('/', { agent, clock, wheel: new DeadlineWheel(clock), timeoutMs: 5_000 })
    clock.advance(5_000)

    expect(await failureOf(asked)).toEqual({
      code: 'TIMEOUT',
      message: 'Tool execution timed out after 5000ms',
      extras: {},
      repeat: { neverLeft: true },
    })
    await agent.destroy()
  })
})

describe('a cancelled call', () => {
  const reason = new Error('cancelled')

  test.each([
    ['before it is sent', 0],
    ['before it is answered', 1],
    ['in the middle of the answer', 2],
  ])('%s ends at once, with the reason', async (_, when) => {
    const cancellation = new Cancellation()
    const weather = await raw((socket) => {
      if (when === 1) cancellation.abort(reason)
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n12', () => cancellation.abort(reason))
    })
    if (when === 0) cancellation.abort(reason)

    await expect(weather.ask('/', { signal: cancellation })).rejects.toBe(reason)
    expect(weather.asked).toHaveLength(when === 0 ? 0 : 1)
    expect(await weather.isWell()).toBe(true)
  })

  test('is not listened for behind the end', async () => {
    const weather = await http((_, response) => response.end())
    const listeners = new Set<unknown>()
    const signal = {
      aborted: false,
      reason: undefined,
      addEventListener: (_: string, listener: unknown) => listeners.add(listener),
      removeEventListener: (_: string, listener: unknown) => listeners.delete(listener),
    }
    const asked = weather.ask('/', { signal })
    expect(listeners.size).toBe(1)
    await asked
    expect(listeners.size).toBe(0)
  })

  test('closes its connection', async () => {
    const controller = new AbortController()
    const closed = new Promise<void>((resolve) => {
      raw((socket) => {
        once(socket, 'close').then(() => resolve())
        controller.abort(reason)
      }).then((weather) => weather.ask('/', { signal: controller.signal }).catch(() => undefined))
    })
    await closed
  })

  test('while it waits for a connection leaves nothing behind, and sends nothing later', async () => {
    const cancellation = new Cancellation()
    const weather = await http((_, response) => response.end())
    const { promise, resolve } = Promise.withResolvers<readonly string[]>()
    const { addresses } = new NetworkRules({ allow_private: ['127.0.0.1/32'] })
    const agent = guardedAgent(addresses, { lookup: () => promise })

    const asked = weather.ask('/', { agent, signal: cancellation })
    cancellation.abort(reason)
    await expect(asked).rejects.toBe(reason)
    resolve(['127.0.0.1'])

    expect((await weather.ask('/well', { agent })).body.toString()).toBe('well')
    expect(weather.asked).toEqual(['GET /well'])
    await agent.destroy()
  })
})
