import { afterEach, describe, expect, it } from 'vitest'
import { closeAll, connect } from '../fixtures/connect.ts'
import { isTooLarge } from './message-reader.ts'

afterEach(closeAll)

describe('what a server writes on stdout', () => {
  it('is reported with its content where it is no JSON-RPC, and the next message is handled as usual', async () => {
    const { call, noise, lines } = await connect()
    expect(await call('noise')).toBe('ok')
    expect(noise).toEqual(['Listening…', 'red {"a":1}', '{"level":"info"}', '{broken', '[]'])
    const message = 'The MCP server wrote a line that is not a JSON-RPC message'
    expect(lines.map(({ level, fields, ...line }) => [level, line.message, fields.text])).toEqual(
      noise.map((text) => ['warn', message, text]),
    )
  })

  it.each(['half', 'odd-lines'])('may come in any way that is still a message (%s)', async (tool) => {
    const { call, noise } = await connect()
    expect(await call(tool)).toBe('ok')
    expect(noise).toEqual([])
  })

  it('may begin with a byte order mark', async () => {
    const { call, noise } = await connect(['bom'])
    expect(await call('echo', { text: 'grüße' })).toBe('grüße')
    expect(noise).toEqual([])
  })

  it('is reported where it is not valid UTF-8, and read as far as it can be', async () => {
    const { call, noise } = await connect()
    expect(await call('bad-bytes')).toBe('a\ufffdb')
    expect(noise).toEqual(['\ufffd\ufffd\ufffd', expect.stringContaining('a\ufffdb')])
  })

  it.each(['unknown-id', 'twice'])('is reported by the client where no request waits for it (%s)', async (tool) => {
    const { call, errors } = await connect()
    expect(await call(tool)).toBe('ok')
    expect(await call('echo', { text: 'still there' })).toBe('still there')
    expect(errors).toEqual([expect.stringContaining('unknown message ID')])
  })

  it('is reported and not parsed where it is nested too deeply', async () => {
    const { call, errors, noise } = await connect()
    expect(await call('deep')).toBe('ok')
    expect([errors, noise]).toEqual([[], [expect.stringMatching(/^\{"jsonrpc":"2.0","result":\[{400}/)]])
  })

  it('ends the call at once where its answer is nested too deeply', async () => {
    const { call } = await connect()
    await expect(call('deep-answer')).rejects.toThrow(
      'The server answered with JSON that is nested deeper than 520 levels',
    )
    expect(await call('echo', { text: 'still there' })).toBe('still there')
  })

  it('is reported in part where it is a flood of noise', async () => {
    const { call, noise } = await connect()
    expect(await call('flood', { lines: 100_000 })).toBe('ok')
    expect(noise).toHaveLength(20)
  })

  it.each([
    ['before', false],
    ['after', true],
  ])('ends the call at once where it is too long, with the id %s the result', async (_where, idLast) => {
    const { call, noise } = await connect([], { maxLineBytes: 100_000 })
    const error = await call('huge', { megabytes: 2, id_last: idLast }).catch((thrown: unknown) => thrown)
    expect(isTooLarge(error)).toBe(true)
    expect(error).toMatchObject({ message: 'The server answered with more than 100000 bytes, which is over the limit' })
    expect(noise).toEqual([expect.stringMatching(/^\{"jsonrpc":"2.0",/)])
    expect(await call('echo', { text: 'still there' })).toBe('still there')
  })

  it('is skipped where it is too long and answers nothing', async () => {
    const { call, noise } = await connect([], { maxLineBytes: 100_000 })
    expect(await call('huge-noise', { megabytes: 1 })).toBe('ok')
    expect(noise).toEqual([expect.stringMatching(/^x{500}… /)])
  })

  it('leaves everything else its turn where it comes faster than it is handled', async () => {
    const message = '{"jsonrpc":"2.0","method":"x"}\n'
    const { call, transport } = await connect()
    let inTurn = 0
    const turns: number[] = []
    transport.onmessage = () => {
      inTurn++
      for (const end = performance.now() + 0.005; performance.now() < end; );
    }
    void call('pour-out', { line: message }).catch(() => {})
    while (turns.length < 20) {
      await new Promise((resolve) => setImmediate(resolve))
      if (inTurn > 0) turns.push(inTurn)
      inTurn = 0
    }
    await transport.close()
    // Node reads 64 KB at once; in one turn there are at most two such pieces.
    expect(Math.max(...turns)).toBeLessThanOrEqual((2 * 65_536) / message.length + 2)
  })

  it('is neither kept nor holds up anything else where it is a line of 40 MB', async () => {
    const { call } = await connect([], { maxLineBytes: 100_000 })
    const before = process.memoryUsage.rss()
    let [peak, turns] = [0, 0]
    const watch = setInterval(() => {
      turns++
      peak = Math.max(peak, process.memoryUsage.rss())
    }, 1)
    const error = await call('huge', { megabytes: 40, id_last: true }).catch((thrown: unknown) => thrown)
    clearInterval(watch)
    expect(isTooLarge(error)).toBe(true)
    // The line itself must not be there: this much is for the test runner.
    expect(peak - before).toBeLessThan(30e6)
    expect(turns).toBeGreaterThan(10)
    expect(await call('echo', { text: 'still there' })).toBe('still there')
  })
})
