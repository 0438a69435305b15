import { randomUUID } from 'node:crypto'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { Collections } from '../../src/knowledge/collections/collections.ts'
import type { SearchWay } from '../../src/knowledge/collections/search.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { fillStore, WHERE } from '../knowledge/filled-store.ts'
import { MadeUpText } from '../knowledge/made-up-text.ts'
import { DIMENSIONS, standInEmbedder } from '../knowledge/stand-in-embedder.ts'
import { unitVectors } from '../knowledge/unit-vectors.ts'
import { loopPauses } from '../storage/loop-pauses.ts'
import { temporaryFolder } from '../storage/temporary-folder.ts'

export interface KnowledgeQueryOptions {
  readonly chunks: number
  readonly queries: number
}

export interface Times {
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface KnowledgeQueryResult {
  readonly vector: Times
  readonly text: Times
  readonly hybrid: Times
  /** The longest that the thread which asks stood still. */
  readonly pauseMs: number
  /** The most that it did itself in one go: on a busy machine it stands still without that. */
  readonly pauseCpuMs: number
  /** Of the ten that are truly nearest, the share that is found. */
  readonly recall: number
  readonly fillS: number
  readonly peakMb: number
}

/** Searches a collection of so many chunks, one question after the other. */
export async function knowledgeQuery({ chunks, queries }: KnowledgeQueryOptions): Promise<KnowledgeQueryResult> {
  const { folder, remove } = await temporaryFolder()
  const storage = await openStorage({ folder, instance: randomUUID(), keepDays: 7 }, { log: silentLog })
  const embedder = standInEmbedder()
  const collections = new Collections({
    store: async () => storage.knowledge,
    embedder: async () => embedder,
    log: silentLog,
    clock: systemClock,
  })
  const next = unitVectors(DIMENSIONS, 23)
  const questions = Array.from({ length: 50 }, () => next())
  const began = performance.now()
  const nearest = await fillStore(storage, chunks, questions)
  const fillS = (performance.now() - began) / 1000

  let found = 0
  for (const [at, vector] of questions.entries()) {
    // As deep as every search looks.
    const hits = await storage.knowledge.byVector({ ...WHERE, most: 100, vector })
    found += hits.slice(0, 10).filter(({ position }) => nearest[at]?.has(position)).length
  }
  const words = new MadeUpText(31)
  const timesOf = async (by: SearchWay): Promise<Times> => {
    const times: number[] = []
    for (let query = 0; query < queries + 3; query++) {
      const question = { ...WHERE, query: words.sentence(5), most: 5, by }
      const started = performance.now()
      await collections.search(question)
      times.push(performance.now() - started)
    }
    const sorted = times.slice(3).sort((a, b) => a - b)
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number
    return { p50Ms: at(0.5), p99Ms: at(0.99) }
  }
  let ways = {} as Record<SearchWay, Times>
  const pauses = await loopPauses(async () => {
    ways = { vector: await timesOf('vector'), text: await timesOf('text'), hybrid: await timesOf('hybrid') }
  })
  await storage.close()
  remove()
  const recall = found / nearest.reduce((sum, { size }) => sum + size, 0)
  return {
    ...ways,
    pauseMs: pauses.longestMs,
    pauseCpuMs: pauses.longestCpuMs,
    recall,
    fillS,
    peakMb: process.resourceUsage().maxRSS / 1e3,
  }
}
