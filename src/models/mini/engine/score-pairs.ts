/** Runs in a child process: loads the model once and scores pairs. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { encodePair } from './encode-pair.ts'
import { TextEncoder, type WordEncoder } from './encoded-text.ts'
import type { Packages } from './find-packages.ts'
import type { Pair, PairScore } from './pair-scorer.ts'
import { type Runtime, runPair } from './run-pair.ts'

export interface ScorePairsParams {
  readonly packages: Packages
  readonly weights: string
  readonly pairs: readonly Pair[]
}

type Tokenizers = { readonly Tokenizer: new (tokenizer: object, config: object) => WordEncoder }
type Scorer = (pair: Pair) => Promise<PairScore>

let loading: Promise<Scorer> | undefined

/** Scores pairs, one after the other. */
export async function scorePairs({ packages, weights, pairs }: ScorePairsParams): Promise<PairScore[]> {
  loading ??= load(packages, weights).catch((error: unknown) => {
    loading = undefined
    throw error
  })
  const score = await loading
  const scores: PairScore[] = []
  for (const pair of pairs) scores.push(await score(pair))
  return scores
}

async function load({ runtimes, tokenizers }: Packages, weights: string): Promise<Scorer> {
  const json = async (name: string): Promise<object> => JSON.parse(await readFile(join(weights, name), 'utf8'))
  const ort = await firstThatLoads(runtimes)
  const { Tokenizer } = await imported<Tokenizers>(tokenizers)
  // One thread: WebAssembly threads need workers, which the process may not start.
  ort.env.wasm.numThreads = 1
  ort.env.logLevel = 'error'
  const file = await readFile(join(weights, 'model.int8.onnx'))
  const session = await ort.InferenceSession.create(file, { intraOpNumThreads: 1 })
  const words = new Tokenizer(await json('tokenizer.json'), await json('tokenizer_config.json'))
  const encoder = new TextEncoder(words)
  return (pair) => runPair(ort, session, encodePair(encoder, pair))
}

/** A runtime for another machine, or one that is only partly installed, doesn't load. */
async function firstThatLoads(runtimes: readonly string[]): Promise<Runtime> {
  let reason: unknown
  for (const url of runtimes) {
    try {
      return await imported<Runtime>(url)
    } catch (error) {
      reason = error
    }
  }
  throw reason
}

/** The exports of a CommonJS package may be its default export. */
async function imported<Exports>(url: string): Promise<Exports> {
  const found = await import(url)
  return found.default ?? found
}
