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

/**
 * Runs one pair through the model. Several at once are no faster on a processor, since the short ones are filled up to
 * the longest; and the numbers of one would depend on the others, since the model rounds by the largest of all.
 */
export async function runPair(
  { Tensor }: Runtime,
  session: Session,
  { ids, offset, said }: EncodedPair,
): Promise<PairScore> {
  const tensor = (value: (id: number, at: number) => number): object =>
    new Tensor(
      'int64',
      BigInt64Array.from(ids, (id, at) => BigInt(value(id, at))),
      [1, ids.length],
    )
  const { relevance, span } = (await session.run({
    input_ids: tensor((id) => id),
    token_type_ids: tensor((_, at) => (at >= offset ? 1 : 0)),
    attention_mask: tensor(() => 1),
  })) as { relevance: Output; span: Output }
  const logit = (at: number, side: 0 | 1): number => span.data[at * 2 + side] as number
  const score: PairScore = {
    relevance: relevance.data[0] as number,
    span: {
      from: said.from,
      to: said.to,
      start: said.ids.map((_, index) => logit(offset + index, 0)),
      end: said.ids.map((_, index) => logit(offset + index, 1)),
      absent: logit(0, 0) + logit(0, 1),
    },
  }
  relevance.dispose?.()
  span.dispose?.()
  return score
}
