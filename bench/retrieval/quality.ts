/** How many are looked at: as many as a model or a person reads. */
export const DEPTH = 10

/** The share of what is relevant that is among the first `DEPTH`. */
export function recall(ranked: readonly string[], relevant: ReadonlySet<string>): number {
  const found = first(ranked).filter((id) => relevant.has(id)).length
  return found / relevant.size
}

/** How well the first `DEPTH` are ordered: 1 where all that is relevant comes first, and less the later it comes. */
export function ndcg(ranked: readonly string[], relevant: ReadonlySet<string>): number {
  const gain = first(ranked).reduce((sum, id, index) => sum + (relevant.has(id) ? discount(index) : 0), 0)
  let ideal = 0
  for (let index = 0; index < Math.min(DEPTH, relevant.size); index++) ideal += discount(index)
  return gain / ideal
}

/** Each once, where it comes first. */
const first = (ranked: readonly string[]): string[] => [...new Set(ranked)].slice(0, DEPTH)

const discount = (index: number): number => 1 / Math.log2(index + 2)
