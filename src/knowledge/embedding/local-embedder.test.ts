import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { LocalEmbedder, type LocalEmbedderOptions } from './local-embedder.ts'

const engine = new URL('./fixtures/scripted-engine.ts', import.meta.url)
const model = { folders: [fileURLToPath(new URL('.', engine))], engine: engine.href, weights: engine.href }

let opened: LocalEmbedder | undefined
afterEach(() => opened?.close())

function open(options: LocalEmbedderOptions = {}, about = model): LocalEmbedder {
  opened = new LocalEmbedder(about, { processes: 1, ...options })
  return opened
}

/** Vectors of the scripted engine contain the number of texts and the length of this one. */
const seenAndLength = (vectors: readonly Float32Array[]) =>
  vectors.map(([pid = 0, seen = 0, length = 0]) => [Math.round((seen / length) * 1000), pid > 0])
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
const running = (embedder: LocalEmbedder) => expect.poll(() => embedder.pids.length)

describe('LocalEmbedder', () => {
  test('starts with the first text and reuses its process', async () => {
    const embedder = open()
    expect(embedder.pids).toEqual([])
    const first = await embedder.embed(['a', 'a', 'a'], 'document')
    const { pids } = embedder
    const second = await embedder.embed(['a'], 'query')
    expect(seenAndLength([...first, ...second])).toEqual([1, 2, 3, 4].map((seen) => [seen * 1000, true]))
    expect([pids.length, embedder.pids]).toEqual([1, pids])
    for (const vector of first) expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
    expect(await embedder.embed([], 'document')).toEqual([])
  })

  test('embeds a query before waiting documents', async () => {
    const embedder = open()
    const order: string[] = []
    const ask = (text: string, purpose: 'document' | 'query') =>
      embedder.embed([text], purpose).then(() => order.push(text))
    await Promise.all([
      ask('busy 200', 'document'),
      ask('one', 'document'),
      ask('two', 'document'),
      ask('why', 'query'),
    ])
    expect(order.indexOf('why')).toBeLessThan(order.indexOf('one'))
    expect(order.indexOf('one')).toBeLessThan(order.indexOf('two'))
  })

  test('uses several processes, but no more than texts', async () => {
    const embedder = open({ processes: 3 })
    await embedder.embed(['busy 300', 'busy 300'], 'document')
    expect(embedder.pids.length).toBe(2)
  })

  test('does not block our process', async () => {
    const embedder = open()
    await embedder.embed(['a'], 'document')
    let turns = 0
    const timer = setInterval(() => turns++, 10)
    await embedder.embed(['busy 500'], 'document')
    clearInterval(timer)
    expect(turns).toBeGreaterThan(5)
  })

  test('replaces a killed process and retries its text', async () => {
    const log = captureLog()
    const embedder = open({ log })
    const embedding = embedder.embed(['a', 'busy 1000', 'b'], 'document')
    await running(embedder).toBe(1)
    const [first = 0] = embedder.pids
    // Kill it only while it works, not while it starts.
    await embedder.embed(['now'], 'query')
    process.kill(first, 'SIGKILL')
    expect((await embedding).length).toBe(3)
    expect(embedder.pids).not.toContain(first)
    expect(log.at('warn').length).toBe(1)
  })

  test('gives up on a text that kills its process twice', async () => {
    const log = captureLog()
    const embedder = open({ log })
    await expect(embedder.embed(['exit'], 'document')).rejects.toMatchObject({
      code: 'EXECUTION_ERROR',
      extras: {},
      message: expect.stringMatching(
        /^The local embedding model failed: The process .* ended before it answered \(exit code 3\)$/,
      ),
    })
    expect(log.at('warn').length).toBe(1)
    expect((await embedder.embed(['a'], 'document')).length).toBe(1)
  })

  test('ends a hanging process and fails only its text', async () => {
    const clock = new ManualClock()
    const embedder = open({ clock })
    await embedder.embed(['a'], 'document')
    const hanging = embedder.embed(['hang'], 'document')
    const [pid = 0] = embedder.pids
    const next = embedder.embed(['a'], 'document')
    clock.advance(60_000)
    await expect(hanging).rejects.toThrow('The local embedding model failed: it took more than 60 s for one text')
    expect((await next).length).toBe(1)
    expect(isAlive(pid)).toBe(false)
  })

  test('rejects at once on abort, and drops waiting texts', async () => {
    const embedder = open()
    await embedder.embed(['a'], 'document')
    const controller = new AbortController()
    const reason = new Error('enough')
    const embedding = embedder.embed(['busy 500', 'exit', 'exit'], 'document', controller.signal)
    const { pids } = embedder
    controller.abort(reason)
    await expect(embedding).rejects.toBe(reason)
    // The process finished the first text and never got the others.
    expect(seenAndLength(await embedder.embed(['a'], 'document'))).toEqual([[3000, true]])
    expect(embedder.pids).toEqual(pids)
    await expect(embedder.embed(['a'], 'document', controller.signal)).rejects.toBe(reason)
  })

  test("logs the engine's error, but does not return it", async () => {
    const log = captureLog()
    const embedder = open({ log })
    await expect(embedder.embed(['throw'], 'document')).rejects.toThrow(
      /^The local embedding model failed: its files are damaged\. Install them again: toolyard models add-embeddings$/,
    )
    expect(log.at('error')).toEqual([{ detail: "ENOENT: no such file, open '/secret/model.bin'" }])
  })

  test('reports missing files as damaged', async () => {
    const gone = new URL('none.ts', engine).href
    await expect(open({}, { ...model, engine: gone }).embed(['a'], 'document')).rejects.toThrow('its files are damaged')
  })

  test("rejects if its process can't be started, and recovers later", async () => {
    const { execPath } = process
    onTestFinished(() => {
      process.execPath = execPath
    })
    process.execPath = '/nowhere/node'
    const log = captureLog()
    const embedder = open({ log })
    await expect(embedder.embed(['a', 'b'], 'document')).rejects.toThrow(
      /^The local embedding model failed: The process .* could not be started$/,
    )
    expect(log.at('error').length).toBe(2)
    process.execPath = execPath
    expect((await embedder.embed(['a'], 'document')).length).toBe(1)
  })

  test.each([
    ['zeros', 'Vector 1 has no direction: its length is 0.'],
    ['short', 'Vector 1 has 3 dimensions, not 384.'],
  ])('rejects a call with an invalid vector (%s)', async (text, message) => {
    const embedder = open()
    await expect(embedder.embed([text, 'exit'], 'document')).rejects.toThrow(message)
  })

  test('ends idle processes after a minute', async () => {
    const clock = new ManualClock()
    const embedder = open({ clock })
    await embedder.embed(['a'], 'document')
    clock.advance(59_999)
    await embedder.embed(['a'], 'document')
    clock.advance(59_999)
    expect(embedder.pids.length).toBe(1)
    const [pid = 0] = embedder.pids
    clock.advance(1)
    await running(embedder).toBe(0)
    expect([isAlive(pid), clock.pending]).toEqual([false, 0])
    expect((await embedder.embed(['a'], 'document')).length).toBe(1)
  })

  test('limits the number of waiting texts', async () => {
    const embedder = open()
    const controller = new AbortController()
    const first = embedder.embed(['busy 2000', ...Array(1000).fill('a')], 'document', controller.signal)
    const refused = expect(first).rejects.toThrow()
    await expect(embedder.embed(['a'], 'query')).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'The local embedding model is not available: 1001 of your texts already wait for it. Try again later',
    })
    controller.abort(new Error('enough'))
    await refused
    expect((await embedder.embed(['a'], 'query')).length).toBe(1)
  })

  test('tenants take turns, and the waiting texts of one refuse none of another', async () => {
    const embedder = open()
    const controller = new AbortController()
    const order: string[] = []
    const flood = embedder.embed(['busy 200', ...Array(1000).fill('a')], 'document', controller.signal, 'acme')
    const refused = expect(flood.finally(() => order.push('acme'))).rejects.toThrow()
    await embedder.embed(['b'], 'document', undefined, 'other').then(() => order.push('other'))
    expect(order).toEqual(['other'])
    controller.abort()
    await refused
  })

  test('rejects waiting texts when closed', async () => {
    const embedder = open()
    await embedder.embed(['a'], 'document')
    const [pid = 0] = embedder.pids
    const working = expect(embedder.embed(['busy 5000', 'a'], 'document')).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'The local embedding model is not available: it is closed',
    })
    await embedder.close()
    await working
    expect([isAlive(pid), embedder.pids]).toEqual([false, []])
    await expect(embedder.embed(['a'], 'document')).rejects.toThrow('it is closed')
    await embedder.close()
  })
})
