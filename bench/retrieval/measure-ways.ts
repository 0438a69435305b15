import type { SearchWay } from '../../src/knowledge/collections/search.ts'
import type { Corpus } from './corpus.ts'
import { ndcg, recall } from './quality.ts'
import type { Searchable } from './searchable.ts'

export const WAYS: readonly SearchWay[] = ['vector', 'text', 'hybrid']

/** How well one way of searching answered each of the questions, in their order. */
export interface Measured {
  readonly by: SearchWay
  readonly recall: readonly number[]
  readonly ndcg: readonly number[]
  /** 1 where the passage that answers is the first, or among the first five; empty where no passage is known to be. */
  readonly first: readonly number[]
  readonly firstFive: readonly number[]
}

/** What a caller gets where nothing is said. */
const USUAL = 5

/** Asks every question in every way. Documents are ranked by the best of their passages. */
export async function measureWays(
  searchable: Searchable,
  corpus: Corpus,
  progress: (line: string) => void,
): Promise<Measured[]> {
  const measured: Measured[] = []
  for (const by of WAYS) {
    const one = { by, recall: [] as number[], ndcg: [] as number[], first: [] as number[], firstFive: [] as number[] }
    for (const [index, { text, relevant, isAnswer }] of corpus.questions.entries()) {
      progress(`${by}: question ${index + 1} of ${corpus.questions.length}`)
      const ranked = (await searchable.search(corpus, text, by)).map(({ source }) => source)
      one.recall.push(recall(ranked, relevant))
      one.ndcg.push(ndcg(ranked, relevant))
      if (isAnswer === undefined) continue
      const usual = await searchable.search(corpus, text, by, USUAL)
      one.first.push(usual.slice(0, 1).some(isAnswer) ? 1 : 0)
      one.firstFive.push(usual.some(isAnswer) ? 1 : 0)
    }
    measured.push(one)
  }
  return measured
}
