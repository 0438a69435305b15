import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { captureLog } from '../../../testing/capture-log.ts'
import { ManualClock } from '../../../testing/manual-clock.ts'
import { LocalEmbedder, type LocalEmbedderOptions } from './local-embedder.ts'

vi.setConfig({ testTimeout: 60_000 })

const engine = new URL('../fixtures/scripted-engine.ts', import.meta.url)
const model = { folders: [fileURLToPath(new URL('.', engine))], engine: engine.href, weights: engine.href }

let opened: LocalEmbedder | undefined
afterEach(() => opened?.close())

function open(options: LocalEmbedderOptions = {}, about = model): LocalEmbedder {
  opened = new LocalEmbedder(about, { processes: 1, ...options })
  return opened
}

/** The scripted engine says in every vector how many texts its process had seen before, and how long this one was. */
const seenAndLength = (vectors: readonly Float32Array[]) =>
  vectors.map(([pid = 0, seen = 0, length = 0]) => [Math.round((seen / length) * 1000), pid > 0])
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
const running = (embedder: LocalEmbedder) => expect.poll(() => embedder.pids.length, { timeout: 30_000 })

describe('the local model', () => {
  test('is not started before it is needed, and then embeds text after text in the same process', async () => {
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

  test('a question goes before the documents that wait', async () => {
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

  test('takes several processes where it may, and no more than there are texts', async () => {
    const embedder = open({ processes: 3 })
    await embedder.embed(['busy 300', 'busy 300'], 'document')
    expect(embedder.pids.length).toBe(2)
  })

  test('our own process goes on while it works', async () => {
    const embedder = open()
    await embedder.embed(['a'], 'document')
    let turns = 0
    const timer = setInterval(() => turns++, 10)
    await embedder.embed(['busy 500'], 'document')
    clearInterval(timer)
    expect(turns).toBeGreaterThan(5)
  })

  test('a process that is killed is replaced, and its text tried again', async () => {
    const log = captureLog()
    const embedder = open({ log })
    const embedding = embedder.embed(['a', 'busy 1000', 'b'], 'document')
    await running(embedder).toBe(1)
    const [first = 0] = embedder.pids
    // Not before it works: a process that ends while it starts is another matter.
    await embedder.embed(['now'], 'query')
    process.kill(first, 'SIGKILL')
    expect((await embedding).length).toBe(3)
    expect(embedder.pids).not.toContain(first)
    expect(log.at('warn').length).toBe(1)
  })

  test('a text under which processes end again and again is given up, and the next one works', async () => {
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

  test('a process that hangs is ended, and only its text is lost', async () => {
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

  test('a caller that goes away is answered at once, and what it left is not begun', async () => {
    const embedder = open()
    await embedder.embed(['a'], 'document')
    const controller = new AbortController()
    const reason = new Error('enough')
    const embedding = embedder.embed(['busy 500', 'exit', 'exit'], 'document', controller.signal)
    const { pids } = embedder
    controller.abort(reason)
    await expect(embedding).rejects.toBe(reason)
    // The process went on with the first text and was not told of the others: the next text is its third.
    expect(seenAndLength(await embedder.embed(['a'], 'document'))).toEqual([[3000, true]])
    expect(embedder.pids).toEqual(pids)
    await expect(embedder.embed(['a'], 'document', controller.signal)).rejects.toBe(reason)
  })

  test('what it throws is said without the words of the machine, which are logged', async () => {
    const log = captureLog()
    const embedder = open({ log })
    await expect(embedder.embed(['throw'], 'document')).rejects.toThrow(
      /^The local embedding model failed: its files are damaged\. Fetch them again: toolyard models add-embeddings$/,
    )
    expect(log.at('error')).toEqual([{ detail: "ENOENT: no such file, open '/secret/model.bin'" }])
  })

  test('files that are not there are damaged files', async () => {
    const gone = new URL('none.ts', engine).href
    await expect(open({}, { ...model, engine: gone }).embed(['a'], 'document')).rejects.toThrow('its files are damaged')
  })

  test('where its process cannot be started, twice, those who wait are told; later it may work', async () => {
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
  ])('a vector that is no good (%s) is refused, and so is the rest of the call', async (text, message) => {
    const embedder = open()
    await expect(embedder.embed([text, 'exit'], 'document')).rejects.toThrow(message)
  })

  test('ends when there was nothing to do for a minute, and starts again', async () => {
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

  test('no more texts wait than can be borne', async () => {
    const embedder = open()
    const controller = new AbortController()
    const first = embedder.embed(['busy 2000', ...Array(1000).fill('a')], 'document', controller.signal)
    const refused = expect(first).rejects.toThrow()
    await expect(embedder.embed(['a'], 'query')).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'The local embedding model is not available: 1001 texts already wait for it. Try again later',
    })
    controller.abort(new Error('enough'))
    await refused
    expect((await embedder.embed(['a'], 'query')).length).toBe(1)
  })

  test('when it is closed those who wait are told, its processes are gone, and it takes no more', async () => {
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
