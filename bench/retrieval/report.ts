import { table } from '../table.ts'
import { difference, type Estimate, estimate } from './bootstrap.ts'
import type { Measured } from './measure-ways.ts'

const NAMES = { vector: 'vectors', text: 'full text', hybrid: 'both' }

/** The table of one corpus, over some of its questions. */
export function qualityTable(measured: readonly Measured[], only: (index: number) => boolean = () => true): string {
  const some = (values: readonly number[]) => values.filter((_, index) => only(index))
  const known = (measured[0]?.first.length ?? 0) > 0
  const header = ['', 'recall@10', 'nDCG@10', ...(known ? ['the answer is first', 'among the first five'] : [])]
  const rows = measured.map((one) => [
    NAMES[one.by],
    written(estimate(some(one.recall))),
    written(estimate(some(one.ndcg))),
    ...(known ? [written(estimate(some(one.first))), written(estimate(some(one.firstFive)))] : []),
  ])
  return table(header, rows)
}

/** By how much searching both ways is better than each alone, question by question. */
export function differenceTable(measured: readonly Measured[]): string {
  const both = measured.find(({ by }) => by === 'hybrid') as Measured
  const rows = measured
    .filter((one) => one !== both)
    .map((one) => [
      `both − ${NAMES[one.by]}`,
      written(difference(both.recall, one.recall)),
      written(difference(both.ndcg, one.ndcg)),
    ])
  return table(['', 'recall@10', 'nDCG@10'], rows)
}

const written = ({ mean, low, high }: Estimate): string => `${three(mean)} (${three(low)} to ${three(high)})`

const three = (value: number): string => value.toFixed(3).replace('-', '−')
