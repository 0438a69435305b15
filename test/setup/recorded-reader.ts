import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MiniError } from '../../packages/mini/src/base/port.ts'
import {
  type ProcessReaderOptions,
  ProcessReader as RealReader,
} from '../../packages/mini/src/engine/process-reader.ts'
import type { Question, Reading, ToolReader } from '../../packages/mini/src/engine/tool-reader.ts'

const FILE = new URL('../data/mini-readings.jsonl', import.meta.url)
const MODEL = new URL('../../packages/mini/weights/model.int8.onnx', import.meta.url)
const DIGITS = 3

const sha = (content: string | Buffer): string => createHash('sha256').update(content).digest('base64url').slice(0, 16)

/** What the built-in model was recorded to answer, by question or text. The first line of the file names the model. */
let recorded: Map<string, unknown> | undefined

function recordings(): Map<string, unknown> {
  if (recorded !== undefined) return recorded
  const model = sha(readFileSync(MODEL))
  if (!existsSync(FILE)) appendFileSync(FILE, `${JSON.stringify(['model', model])}\n`)
  const [first, ...lines] = readFileSync(FILE, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as [string, unknown])
  if (first?.[1] !== model) {
    throw new MiniError(
      `test/data/mini-readings.jsonl was recorded with another packages/mini/weights/model.int8.onnx: delete it, then run TOOLYARD_TEST_MINI=record npm test`,
    )
  }
  recorded = new Map(lines)
  return recorded
}

/** Numbers with few digits, so that the file stays small. */
const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, one) => (typeof one === 'number' ? Number(one.toPrecision(DIGITS)) : one)))

/** The places of the tokens are those of the message for every parameter, so they are recorded once. */
function packed({ relevance, parameters }: Reading): unknown {
  const [first] = parameters
  const rows = parameters.map(({ span: { start, end, inside, absent }, mentioned, options, none }) =>
    rounded([start, end, inside, absent, mentioned, options, none]),
  )
  return [relevance, first?.span.from ?? [], first?.span.to ?? [], rows]
}

type Row = [number[], number[], number[], number, number, number[], number]

function unpacked(record: unknown): Reading {
  const [relevance, from, to, rows] = record as [number, number[], number[], Row[]]
  return {
    relevance,
    parameters: rows.map(([start, end, inside, absent, mentioned, options, none]) => ({
      span: { from, to, start, end, inside, absent },
      mentioned,
      options,
      none,
    })),
  }
}

/**
 * Stands in for `packages/mini/src/engine/process-reader.ts` in tests: gives recorded answers. A test of the model itself
 * sets TOOLYARD_TEST_MINI to `real`; TOOLYARD_TEST_MINI_ENGINE replaces its engine. With `record`, missing answers are asked
 * for and added to the file.
 */
export class ProcessReader implements ToolReader {
  readonly #real: RealReader | undefined
  readonly #mode = process.env.TOOLYARD_TEST_MINI

  constructor(options: ProcessReaderOptions) {
    const engine = process.env.TOOLYARD_TEST_MINI_ENGINE
    const packages = { ...options.packages, ...(engine !== undefined && { runtimes: [engine] }) }
    if (this.#mode !== undefined) this.#real = new RealReader({ ...options, packages })
  }

  get pid(): number | undefined {
    return this.#real?.pid
  }

  ask<Answer>(tenant: string | undefined, answer: (reader: ToolReader) => Promise<Answer>): Promise<Answer> {
    return this.#mode === 'real' ? (this.#real as RealReader).ask(tenant, answer) : answer(this)
  }

  async read(questions: readonly Question[], signal?: AbortSignal): Promise<Reading[]> {
    const ask = async (one: Question) => (await this.#real?.ask('', (own) => own.read([one], signal)))?.map(packed)[0]
    return (await this.#recorded(questions, ask, signal)).map(unpacked)
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<number[][]> {
    const ask = async (one: string) => (await this.#real?.ask('', (own) => own.embed([one], signal)))?.map(rounded)[0]
    return (await this.#recorded(texts, ask, signal)) as number[][]
  }

  async embedTools(texts: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, number[]>> {
    const vectors = await this.embed(texts, signal)
    return new Map(texts.map((text, at) => [text, vectors[at] as number[]]))
  }

  async #recorded<Item>(
    items: readonly Item[],
    ask: (missing: Item) => Promise<unknown>,
    signal?: AbortSignal,
  ): Promise<unknown[]> {
    // A caller may cancel in between, as with the real one.
    signal?.throwIfAborted()
    await nextTurn()
    signal?.throwIfAborted()
    const known = recordings()
    const keyOf = (item: Item): string => sha(JSON.stringify(item))
    const missing = items.filter((item) => !known.has(keyOf(item)))
    if (missing[0] !== undefined && this.#real === undefined) {
      throw new MiniError(
        `test/data/mini-readings.jsonl has no answer for ${JSON.stringify(missing[0])}. Run TOOLYARD_TEST_MINI=record npm test -- <the test file> to add it.`,
      )
    }
    for (const item of missing) {
      if (known.has(keyOf(item))) continue
      const answer = await ask(item)
      known.set(keyOf(item), answer)
      appendFileSync(FILE, `${JSON.stringify([keyOf(item), answer])}\n`)
    }
    return items.map((item) => known.get(keyOf(item)))
  }

  async close(): Promise<void> {
    await this.#real?.close()
  }
}
