import { measureInChild } from '../child.ts'
import { count, figure, withRange } from '../figures.ts'
import type { KnowledgeIngestResult } from '../measures/knowledge-ingest.ts'
import type { KnowledgeMemoryResult } from '../measures/knowledge-memory.ts'
import type { KnowledgeQueryResult, Times } from '../measures/knowledge-query.ts'
import type { Effort, Section } from '../section.ts'
import { spread } from '../statistics.ts'
import { table } from '../table.ts'

const FULL = {
  rounds: 3,
  standIn: { real: false, documents: 300, characters: 40_000 },
  real: { real: true, documents: 8, characters: 3_000 },
  sizes: [1_000, 10_000, 100_000],
  queries: 200,
  memory: { files: 1_000, characters: 870_000, chunkSize: 4_000 },
}
const QUICK = {
  rounds: 1,
  standIn: { real: false, documents: 60, characters: 40_000 },
  real: { real: true, documents: 2, characters: 3_000 },
  sizes: [1_000, 10_000],
  queries: 50,
  memory: { files: 100, characters: 500_000, chunkSize: 4_000 },
}

/** A million chunks take minutes to put and 3 GB of disk, so they are measured only where this is set. */
const MILLION = process.env.TOOLYARD_BENCH_MILLION === '1'
const LONG_MS = 3_600_000

/** How fast documents are taken in and found, and what that takes. */
export const knowledge: Section = {
  id: 'knowledge',
  title: 'Knowledge',
  async run(effort) {
    const settings = effort.quick ? QUICK : FULL
    const ingest = await ingestRows(effort, settings)
    const queries = await queryRows(effort, settings)
    effort.progress('memory')
    const memory = await measureInChild<KnowledgeMemoryResult>('knowledge-memory', settings.memory, LONG_MS)
    const took =
      `A folder of ${count(settings.memory.files)} files, ${figure(memory.megabytes)} MB, ${count(memory.chunks)} chunks ` +
      `with the test double: ${figure(memory.seconds)} s, ${figure(memory.peakMb)} MB of memory at most ` +
      `(${figure(memory.beforeMb)} before; goal: 500 at most).`
    return {
      raw: { ingest: ingest.raw, queries: queries.raw, memory },
      markdown: [ingest.markdown, queries.markdown, took].join('\n\n'),
    }
  },
}

async function ingestRows(effort: Effort, { rounds, standIn, real }: typeof FULL) {
  const raw: Record<'standIn' | 'real', KnowledgeIngestResult[]> = { standIn: [], real: [] }
  for (let round = 1; round <= rounds; round++) {
    effort.progress(`ingesting, round ${round} of ${rounds}`)
    raw.standIn.push(await measureInChild('knowledge-ingest', standIn, LONG_MS))
    raw.real.push(await measureInChild('knowledge-ingest', real, LONG_MS))
  }
  const row = (what: string, results: readonly KnowledgeIngestResult[], goal: string) => [
    what,
    withRange(spread(results.map(({ perSecond }) => perSecond))),
    goal,
    withRange(spread(results.map(({ cpuUs }) => cpuUs))),
    withRange(spread(results.map(({ pauses }) => pauses.longestMs))),
    withRange(spread(results.map(({ pauses }) => pauses.longestCpuMs))),
  ]
  const rows = [row('a test double', raw.standIn, '2,000'), row('`local:minilm-l6-v2`', raw.real, '–')]
  const header = [
    'vectors by',
    'chunks per second',
    'goal, at least',
    'CPU of this process, µs per chunk',
    'longest pause of the main loop, ms',
    'its longest task, CPU ms',
  ]
  return { raw, markdown: table(header, rows) }
}

async function queryRows(effort: Effort, { sizes, queries }: typeof FULL) {
  const raw: (KnowledgeQueryResult & { readonly chunks: number })[] = []
  for (const chunks of MILLION ? [...sizes, 1_000_000] : sizes) {
    effort.progress(`searching ${count(chunks)} chunks`)
    const result = await measureInChild<KnowledgeQueryResult>('knowledge-query', { chunks, queries }, LONG_MS)
    raw.push({ chunks, ...result })
  }
  const times = ({ p50Ms, p99Ms }: Times) => `${figure(p50Ms)} / ${figure(p99Ms)}`
  const rows = raw.map(({ chunks, vector, text, hybrid, pauseMs, pauseCpuMs, recall }) => [
    count(chunks),
    times(vector),
    times(text),
    times(hybrid),
    figure(pauseMs),
    figure(pauseCpuMs),
    recall.toFixed(3),
  ])
  const ways = ['vectors', 'full text', 'both'].map((way) => `${way}, p50 / p99 ms`)
  return {
    raw,
    markdown: table(
      ['chunks', ...ways, 'longest pause of the main loop, ms', 'its longest task, CPU ms', 'recall of the 10 nearest'],
      rows,
    ),
  }
}
