import type { Pair, PairScore } from './pair-scorer.ts'

/** What the parent says: first where everything is, then pairs. */
export type ParentMessage =
  | {
      readonly type: 'load'
      readonly runtimes: readonly string[]
      readonly tokenizers: string
      readonly weights: string
      readonly threads: number
    }
  | { readonly type: 'score'; readonly id: number; readonly pairs: readonly Pair[] }

/** What the child says. */
export type ChildMessage =
  | { readonly type: 'loaded' }
  | { readonly type: 'scored'; readonly id: number; readonly scores: readonly PairScore[] }
  | { readonly type: 'failed'; readonly message: string }
