import { readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startWorker } from '../../../../src/models/mini-wire.ts'
import { captureLog } from '../../../../src/testing/stand-ins.ts'
import { MiniError, type MiniHost, type OfferedTool } from '../base/port.ts'
import { markedPieces } from '../fill/make-value.ts'
import { readTools, textOf } from '../fill/read-tool.ts'
import { findPackages } from './find-packages.ts'
import { ProcessReader, type ProcessReaderOptions, TenantVectors, WEIGHTS } from './process-reader.ts'
import { encodeQuestion, type Pass, TextEncoder } from './read-tools.ts'
import type { ParameterReading, Question, Reading } from './tool-reader.ts'

const FULL = process.env.TOOLYARD_TEST_FULL === '1'
const packages = findPackages('mini')
const made: ProcessReader[] = []
const open = (options: Partial<ProcessReaderOptions> = {}, log = captureLog()): ProcessReader =>
  new ProcessReader({ packages, host: { id: 'mini:v1', log, startWorker }, ...options })
const reader: typeof open = (...options) => {
  const one = open(...options)
  made.push(one)
  return one
}

const read = (from: ProcessReader, questions: readonly Question[], signal?: AbortSignal, tenant?: string) =>
  from.ask(tenant, (own) => own.read(questions, signal))

/** An `onnxruntime-node` in a folder of its own; gives where it is found from. */
async function fasterEngine(code: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mini-'))
  folders.push(folder)
  const faster = join(folder, 'node_modules', 'onnxruntime-node')
  await mkdir(faster, { recursive: true })
  await writeFile(join(faster, 'package.json'), '{ "name": "onnxruntime-node", "main": "index.js" }')
  await writeFile(join(faster, 'index.js'), code)
  return pathToFileURL(join(folder, 'x.js')).href
}
const folders: string[] = []
const packagesWith = async (code: string) => findPackages('mini', [await fasterEngine(code), import.meta.url])
const REFUSES =
  'module.exports = { env: { wasm: {} }, InferenceSession: { async create() { throw new Error("the faster engine") } } }'

/** Loading the model takes a second, so most tests share it. Its faster engine doesn't load: it uses the other. */
let shared: ProcessReader
beforeAll(async () => {
  shared = open({ packages: await packagesWith('throw new Error("for another machine")') })
})
afterAll(async () => {
  await shared.close()
  for (const folder of folders) await rm(folder, { recursive: true })
})
afterEach(async () => {
  await Promise.all(made.splice(0).map((one) => one.close()))
})

const location = { text: 'location: City name', required: true, options: [] }
const weather: Question = {
  tool: { head: 'get weather. Get the weather', parameters: [location] },
  said: 'weather in Zürich, İzmir?',
}
const place: Question = { ...weather, said: 'How is it in Rome?' }

/** Requests with their token ids and outputs, which came with the weights. */
const examples: {
  readonly query: string
  readonly tool: OfferedTool
  readonly input_ids: number[]
  readonly token_type_ids: number[]
  readonly relevance: number
  readonly parameters: {
    readonly name: string
    readonly mentioned: number
    readonly best?: string | null
    readonly score?: number | null
    readonly inside?: string[]
    readonly options?: Readonly<Record<string, number>>
  }[]
}[] = JSON.parse(readFileSync(new URL('./fixtures/examples.json', import.meta.url), 'utf8'))

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
describe('the process of the model', () => {
  test.each(FULL ? examples : examples.slice(0, 3))(
    'reads as the model was trained: $query',
    async ({ query, tool, relevance, parameters }) => {
      const [reading] = await shared.ask('', (own) => readTools([tool], query, { reader: own }))
      expect(reading?.relevance).toBeCloseTo(relevance, 3)
      for (const { name, mentioned, best, score, inside, options } of parameters) {
        const found = reading?.parameters.get(name) as ParameterReading
        expect(found.mentioned).toBeCloseTo(mentioned, 1)
        if (options !== undefined) {
          for (const [at, score] of Object.values(options).entries())
            expect([found.none, ...found.options][at]).toBeCloseTo(score, 1)
        } else {
          expect(markedPieces(found.span, query).map(({ from, to }) => query.slice(from, to))).toEqual(inside)
        }
        if (typeof best === 'string' && typeof score === 'number' && !/\d|three/.test(best)) {
          const { from, to, start, end, absent } = found.span
          const first = from.indexOf(query.indexOf(best))
          const last = to.indexOf(query.indexOf(best) + best.length)
          expect((start[first] as number) + (end[last] as number) - absent).toBeCloseTo(score, 1)
        }
      }
    },
  )

  let encoder: TextEncoder
  beforeAll(async () => {
    const { Tokenizer } = await import(packages.tokenizers)
    const json = (name: string) => JSON.parse(readFileSync(join(WEIGHTS, name), 'utf8'))
    encoder = new TextEncoder(new Tokenizer(json('tokenizer.json'), json('tokenizer_config.json')))
  })

  test.each(examples)('encodes as the model was trained: $query', ({ query, tool, ...expected }) => {
    const { passes } = encodeQuestion(encoder, { said: query, tool: textOf(tool).text })
    expect(passes.map(({ ids }) => ids)).toEqual([expected.input_ids])
    const [{ ids, first }] = passes as [Pass]
    expect(ids.map((_, at) => (at < first ? 0 : 1))).toEqual(expected.token_type_ids)
  })

  test.runIf(FULL)('reads a tool with many parameters in several passes', async () => {
    const text = `${'a long description of it '.repeat(4)}`
    const parameters = Array.from({ length: 40 }, () => ({ text, required: false, options: [] }))
    const [reading] = await read(shared, [{ ...weather, tool: { head: 'x.', parameters: [...parameters, location] } }])
    const { span } = (reading as Reading).parameters.at(-1) as ParameterReading
    const best = span.start.indexOf(Math.max(...span.start))
    expect(weather.said.slice(span.from[best], span.to[best])).toBe('Zürich')
  })

  test('embeds texts so that the nearest means the same', async () => {
    const [asked = [], near = [], far = []] = await shared.ask('', (own) =>
      own.embed([
        'will it rain in Oslo?',
        'get weather. Get the weather of a city',
        'send message. Send a message to a person',
      ]),
    )
    const dot = (other: number[]): number => asked.reduce((sum, value, at) => sum + value * (other[at] as number), 0)
    expect(dot(near)).toBeGreaterThan(dot(far) + 0.2)
  })

  test('requests at the same time take turns, and each gets its own readings', async () => {
    const many = await Promise.all(
      Array.from({ length: 12 }, (_, index) => read(shared, index % 2 ? [weather, place] : [place])),
    )
    expect(many.map((readings) => readings.length)).toEqual(
      Array.from({ length: 12 }, (_, index) => (index % 2 ? 2 : 1)),
    )
    // Whoever else asks at the same time makes no difference, not even a small one.
    expect(many[1]?.[1]).toEqual(many[0]?.[0])
    expect((await read(shared, [place]))[0]).toEqual(many[0]?.[0])
    expect(await read(shared, [])).toEqual([])
  })

  test.runIf(FULL)('a process that is killed is replaced, and nobody notices', async () => {
    await read(shared, [weather])
    const before = shared.pid as number
    const scoring = read(
      shared,
      Array.from({ length: 20 }, () => weather),
    )
    process.kill(before, 'SIGKILL')
    expect(await scoring).toHaveLength(20)
    expect(shared.pid).not.toBe(before)
    expect(isAlive(before)).toBe(false)
  })

  test('stays for the next request', async () => {
    await read(shared, [weather])
    const before = shared.pid
    await read(shared, [weather])
    expect(shared.pid).toBe(before)
  })

  test('fails with a retryable error if the process ends twice', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mini-'))
    try {
      const program = join(folder, 'ends.mjs')
      await writeFile(program, 'process.exit(3)')
      const ending = reader({ packages: { ...packages, runtimes: [pathToFileURL(program).href] } })
      const failure = await read(ending, [weather]).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(MiniError)
      expect(failure).toMatchObject({
        retryable: true,
        message: 'The process of mini:v1 ended before it answered. Ask again.',
      })
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('files that are not what they should be are named as the reason', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mini-'))
    try {
      await writeFile(join(folder, 'model.int8.onnx'), 'no model')
      await expect(read(reader({ weights: folder }), [weather])).rejects.toThrow(
        'The model mini:v1 could not be used: its files are damaged. Install Toolyard again.',
      )
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('the faster engine is taken where it is installed', async () => {
    const log = captureLog()
    const one = reader({ packages: await packagesWith(REFUSES) }, log)
    await expect(read(one, [weather])).rejects.toThrow('could not be used')
    expect(log.at('error')).toMatchObject([{ detail: 'the faster engine' }])
  })

  test('an abort is thrown at once, and the others go on', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const aborted = read(shared, [weather], controller.signal)
    const other = read(shared, [place])
    controller.abort(reason)
    await expect(aborted).rejects.toBe(reason)
    expect(await other).toHaveLength(1)
  })

  test('without work it ends, and comes back', async () => {
    const one = reader({ idleMs: 50, packages: await packagesWith(REFUSES) })
    await expect(read(one, [weather])).rejects.toThrow('could not be used')
    await expect.poll(() => one.pid).toBeUndefined()
    await expect(read(one, [weather])).rejects.toThrow('could not be used')
  })

  test('once closed it is gone, and says so', async () => {
    await read(shared, [weather])
    const pid = shared.pid as number
    await shared.close()
    expect(isAlive(pid)).toBe(false)
    await expect(read(shared, [weather])).rejects.toThrow('The model mini:v1 is closed.')
  })
})

describe('tenants', () => {
  /** A reader whose process runs once `openGate` is called, and the tenant of each call in the order of their ends. */
  async function gated() {
    const folder = await mkdtemp(join(tmpdir(), 'mini-'))
    folders.push(folder)
    const engine = join(folder, 'engine.ts')
    await copyFile(new URL('./fixtures/gated-engine.ts', import.meta.url), engine)
    const calls: string[] = []
    const recorded: MiniHost['startWorker'] = (options) => {
      const worker = startWorker(options)
      return {
        pid: undefined,
        ended: worker.ended,
        close: worker.close,
        run: async (params, tenant, signal) => {
          const result = await worker.run(params, tenant, signal)
          calls.push(tenant)
          return result
        },
      }
    }
    const host = { id: 'mini:v1', log: captureLog(), startWorker: recorded }
    const one = reader({ packages: { ...packages, runtimes: [pathToFileURL(engine).href] }, host })
    return { one, calls, openGate: () => writeFile(join(folder, 'open'), '') }
  }
  const words = (count: number) => 'light '.repeat(count)
  const parameters = (count: number) =>
    Array.from({ length: count }, () => ({ text: words(60), required: false, options: [] }))

  test('take turns, however many questions one of them asks', async () => {
    const { one, calls, openGate } = await gated()
    const greedy = Array.from({ length: 20 }, () =>
      one.ask('greedy', (own) => own.embedTools(Array.from({ length: 10 }, (_, at) => `${words(80)}${at}`))),
    )
    const modest = one.ask('modest', async (own) => {
      await own.embed(['turn on the light'])
      return own.read([weather, place])
    })
    await openGate()
    expect(await modest).toHaveLength(2)
    // Two calls, with at most one of the other tenant before each, and the one that ran first.
    expect(calls.filter((tenant) => tenant === 'modest')).toHaveLength(2)
    expect(calls.length).toBeLessThanOrEqual(5)
    await Promise.all(greedy)
    expect(calls.length).toBeGreaterThan(20)
  })

  test('that ask too many questions are refused, and others are not', async () => {
    const { one, openGate } = await gated()
    const embed = (tenant: string) => one.ask(tenant, (own) => own.embed(['light']))
    const greedy = Array.from({ length: 66 }, () => embed('greedy').catch((error: unknown) => error))
    const modest = embed('modest')
    await openGate()
    expect(await modest).toHaveLength(1)
    const refused = (await Promise.all(greedy)).filter((answer) => answer instanceof MiniError)
    expect(refused).toHaveLength(2)
    expect(refused[0]).toMatchObject({
      message: 'mini:v1 is busy: 64 questions of your tenant already wait. Ask again later.',
      status: 503,
    })
    expect(await embed('greedy')).toHaveLength(1)
  })

  test('get calls of at most 320 tokens, and a question ends after 2,000 and one pass', async () => {
    const { one, calls, openGate } = await gated()
    await openGate()
    const tool = { head: 'x.', parameters: parameters(40) }
    const long = Array.from({ length: 9 }, () => ({ said: words(200), tool }))
    const readings = await one.ask('greedy', async (own) => {
      // 10 of 90 tokens: three in a call.
      await own.embedTools(Array.from({ length: 30 }, (_, at) => `${words(100)}${at}`))
      expect(calls).toHaveLength(4)
      const found = await own.read(long)
      await expect(own.read([weather])).rejects.toThrow('The request is too long for mini:v1. Ask for less at a time.')
      return found
    })
    expect(calls).toHaveLength(8)
    expect(readings).toHaveLength(9)
    // Four first passes of two parameters each were read.
    const read = readings.flatMap((reading) => reading.parameters.filter(({ mentioned }) => mentioned > -1_000))
    expect(read).toHaveLength(8)
  })

  test('find the vectors of their own tools only', async () => {
    const { one, calls, openGate } = await gated()
    await openGate()
    for (const tenant of ['one', 'one', 'other']) {
      expect((await one.ask(tenant, (own) => own.embedTools(['get weather.']))).size).toBe(1)
    }
    expect(calls).toEqual(['one', 'other'])
  })

  test('a cancelled question stops before its next call', async () => {
    const { one, calls, openGate } = await gated()
    const controller = new AbortController()
    const cancelled = one.ask('greedy', (own) => own.read(Array(30).fill(weather), controller.signal))
    const other = one.ask('greedy', (own) => own.embed(['light']))
    controller.abort(new Error('enough'))
    await expect(cancelled).rejects.toThrow('enough')
    await openGate()
    await other
    expect(calls.length).toBeLessThanOrEqual(2)
  })
})

describe('remembered vectors', () => {
  const vector = Float32Array.of(1, 2, 3)
  const hits = (vectors: TenantVectors, tenant: string, count: number) =>
    Array.from({ length: count }, (_, at) => at).filter((at) => vectors.get(tenant, `tool ${at}`) !== undefined)

  test('of one tenant are not forgotten for those of another', () => {
    const vectors = new TenantVectors(2_000)
    for (let at = 0; at < 3; at++) vectors.set('modest', `tool ${at}`, vector)
    for (let at = 0; at < 100; at++) vectors.set('greedy', `tool ${at}`, vector)
    expect(hits(vectors, 'modest', 3)).toEqual([0, 1, 2])
    expect(hits(vectors, 'greedy', 100)).toEqual([88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99])
  })

  test('are forgotten in the order of their last use', () => {
    const vectors = new TenantVectors(400)
    for (let at = 0; at < 3; at++) vectors.set('one', `tool ${at}`, vector)
    vectors.get('one', 'tool 0')
    for (const at of [3, 3, 4]) vectors.set('one', `tool ${at}`, vector)
    expect(hits(vectors, 'one', 5)).toEqual([0, 3, 4])
  })
})
