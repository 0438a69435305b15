import type { EncodedPair } from './encode-pair.ts'
import type { PairScore } from './pair-scorer.ts'

/** What we use of `onnxruntime-web` or `onnxruntime-node`, which are optional. */
export interface Runtime {
  readonly env: { readonly wasm: { numThreads?: number; wasmPaths?: string }; logLevel?: string }
  readonly InferenceSession: { create(model: Uint8Array, options: { intraOpNumThreads: number }): Promise<Session> }
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dimensions: readonly number[]) => object
}

export interface Session {
  run(inputs: Readonly<Record<string, object>>): Promise<Readonly<Record<string, Output>>>
}

interface Output {
  readonly data: Float32Array
  dispose?(): void
}

/** Runs pairs through the model, all at once. */
export async function runPairs(
  { Tensor }: Runtime,
  session: Session,
  pairs: readonly EncodedPair[],
): Promise<PairScore[]> {
  const length = Math.max(...pairs.map(({ ids }) => ids.length))
  const tensor = (value: (pair: EncodedPair, at: number) => number): object => {
    const data = new BigInt64Array(pairs.length * length)
    for (const [row, pair] of pairs.entries()) {
      for (let at = 0; at < pair.ids.length; at++) data[row * length + at] = BigInt(value(pair, at))
    }
    return new Tensor('int64', data, [pairs.length, length])
  }
  const { relevance, span } = (await session.run({
    input_ids: tensor(({ ids }, at) => ids[at] as number),
    token_type_ids: tensor(({ offset }, at) => (at >= offset ? 1 : 0)),
    attention_mask: tensor(() => 1),
  })) as { relevance: Output; span: Output }
  const scores = pairs.map(({ offset, said }, row): PairScore => {
    const logit = (at: number, side: 0 | 1): number => span.data[(row * length + at) * 2 + side] as number
    return {
      relevance: relevance.data[row] as number,
      span: {
        from: said.from,
        to: said.to,
        start: said.ids.map((_, index) => logit(offset + index, 0)),
        end: said.ids.map((_, index) => logit(offset + index, 1)),
        absent: logit(0, 0) + logit(0, 1),
      },
    }
  })
  relevance.dispose?.()
  span.dispose?.()
  return scores
}
