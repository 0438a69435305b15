/** Two texts that are looked at together: what may be meant, and what the person said. */
export interface Pair {
  readonly meant: string
  readonly said: string
}

/** What the model sees in a pair. */
export interface PairScore {
  /** From 0 to 1: how well the two belong together. */
  readonly relevance: number
  readonly span: SpanScores
}

/** For each token of what was said: where it stands, and how well a value begins or ends with it. */
export interface SpanScores {
  readonly from: readonly number[]
  readonly to: readonly number[]
  readonly start: readonly number[]
  readonly end: readonly number[]
  /** The score of "not mentioned", start and end together. */
  readonly absent: number
}

/** Scores pairs, wherever that is done. */
export interface PairScorer {
  score(pairs: readonly Pair[], signal?: AbortSignal): Promise<PairScore[]>
}
