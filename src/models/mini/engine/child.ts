/** The program of the process that holds the model: scores pairs for its parent, and ends with it. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChildMessage, ParentMessage } from './child-messages.ts'
import { encodePair } from './encode-pair.ts'
import { TextEncoder, type WordEncoder } from './encoded-text.ts'
import type { Pair, PairScore } from './pair-scorer.ts'
import { type Runtime, runPair } from './run-pair.ts'

type Load = Extract<ParentMessage, { type: 'load' }>
type Tokenizers = { readonly Tokenizer: new (tokenizer: object, config: object) => WordEncoder }

let model: ((pairs: readonly Pair[]) => Promise<PairScore[]>) | undefined

const send = (message: ChildMessage): void => void process.send?.(message)

/** Of a CommonJS package the exports may be the default. */
async function imported<Exports>(url: string): Promise<Exports> {
  const found = await import(url)
  return found.default ?? found
}

/** A program for another machine, or one that was installed half, does not load. */
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

async function load({ runtimes, tokenizers, weights, threads }: Load): Promise<void> {
  const json = async (name: string): Promise<object> => JSON.parse(await readFile(join(weights, name), 'utf8'))
  const ort = await firstThatLoads(runtimes)
  const { Tokenizer } = await imported<Tokenizers>(tokenizers)
  ort.env.wasm.numThreads = threads
  ort.env.logLevel = 'error'
  const file = await readFile(join(weights, 'model.int8.onnx'))
  const session = await ort.InferenceSession.create(file, { intraOpNumThreads: threads })
  const words = new Tokenizer(await json('tokenizer.json'), await json('tokenizer_config.json'))
  const encoder = new TextEncoder(words)
  model = async (pairs) => {
    const scores: PairScore[] = []
    for (const pair of pairs) scores.push(await runPair(ort, session, encodePair(encoder, pair)))
    return scores
  }
}

async function hear(message: ParentMessage): Promise<void> {
  if (message.type === 'load') {
    await load(message)
    send({ type: 'loaded' })
  } else if (model !== undefined) {
    send({ type: 'scored', id: message.id, scores: await model(message.pairs) })
  }
}

process.on('disconnect', () => process.exit())
process.on('message', (message: ParentMessage) => {
  hear(message).catch((error: unknown) => {
    send({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
  })
})
