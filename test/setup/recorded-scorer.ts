import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Pair, PairScore, PairScorer } from '../../src/models/mini/engine/pair-scorer.ts'
import { type ProcessScorerOptions, ProcessScorer as RealScorer } from '../../src/models/mini/engine/process-scorer.ts'
import { ModelError } from '../../src/models/model-error.ts'

const FILE = new URL('../data/mini-pairs.jsonl', import.meta.url)
const MODEL = new URL('../../mini/model.int8.onnx', import.meta.url)
const DIGITS = 4

type Recorded = readonly [
  relevance: number,
  from: number[],
  to: number[],
  start: number[],
  end: number[],
  absent: number,
]

const sha = (content: string | Buffer): string => createHash('sha256').update(content).digest('base64url').slice(0, 16)
const keyOf = ({ meant, said }: Pair): string => sha(JSON.stringify([meant, said]))
const rounded = (value: number): number => Number(value.toPrecision(DIGITS))

/** What the model in the box was recorded to say, by pair. The first line of the file names the model. */
let recorded: Map<string, Recorded> | undefined

function recordings(): Map<string, Recorded> {
  if (recorded !== undefined) return recorded
  const model = sha(readFileSync(MODEL))
  if (!existsSync(FILE)) appendFileSync(FILE, `${JSON.stringify(['model', model])}\n`)
  const [first, ...lines] = readFileSync(FILE, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as [string, unknown])
  if (first?.[1] !== model) {
    throw new ModelError(
      `test/data/mini-pairs.jsonl was recorded with another mini/model.int8.onnx: delete it, then run TOOLYARD_TEST_MINI=record npm test`,
    )
  }
  recorded = new Map(lines as [string, Recorded][])
  return recorded
}

/**
 * Stands in for `src/models/mini/engine/process-scorer.ts` in tests: gives recorded scores. A test of the model itself
 * sets TOOLYARD_TEST_MINI to `real`. With `record`, scores that are missing are asked for and added to the file.
 */
export class ProcessScorer implements PairScorer {
  readonly #real: RealScorer | undefined
  readonly #mode = process.env.TOOLYARD_TEST_MINI

  constructor(options: ProcessScorerOptions) {
    if (this.#mode !== undefined) this.#real = new RealScorer(options)
  }

  get pid(): number | undefined {
    return this.#real?.pid
  }

  async score(pairs: readonly Pair[], signal?: AbortSignal): Promise<PairScore[]> {
    signal?.throwIfAborted()
    if (this.#mode === 'real') return (this.#real as RealScorer).score(pairs, signal)
    // A caller may cancel in between, as with the real one.
    await nextTurn()
    signal?.throwIfAborted()
    const known = recordings()
    const missing = pairs.filter((pair) => !known.has(keyOf(pair)))
    if (missing[0] !== undefined && this.#real === undefined) {
      throw new ModelError(
        `test/data/mini-pairs.jsonl has no score for ${JSON.stringify(missing[0])}. Run TOOLYARD_TEST_MINI=record npm test -- <the test file> to add it.`,
      )
    }
    const scores = (await this.#real?.score(missing, signal)) ?? []
    for (const [index, { relevance, span }] of scores.entries()) {
      const { from, to, start, end, absent } = span
      const [key, score]: [string, Recorded] = [
        keyOf(missing[index] as Pair),
        [rounded(relevance), [...from], [...to], start.map(rounded), end.map(rounded), rounded(absent)],
      ]
      if (known.has(key)) continue
      known.set(key, score)
      appendFileSync(FILE, `${JSON.stringify([key, score])}\n`)
    }
    return pairs.map((pair) => {
      const [relevance, from, to, start, end, absent] = known.get(keyOf(pair)) as Recorded
      return { relevance, span: { from, to, start, end, absent } }
    })
  }

  async close(): Promise<void> {
    await this.#real?.close()
  }
}
