import { type Command, Option } from 'commander'
import { LOCAL_TENANT } from '../../../core/execution/call.ts'
import { counted } from '../../../core/schema/problem-words.ts'
import { ProcessPool } from '../../../isolation/process-pool.ts'
import type { Collections } from '../../../knowledge/collections/collections.ts'
import type { SearchAnswer, SearchResult, SearchWay } from '../../../knowledge/collections/search.ts'
import { EXTRACTION_MEMORY_MB } from '../../../knowledge/documents/extraction.ts'
import { MAX_CHUNK_SIZE, MIN_CHUNK_SIZE, type Piece } from '../../../knowledge/documents/split-document.ts'
import { ingestDocsTool } from '../../../knowledge/tools/collection-tools.ts'
import { type OpenManager, openManager, SWITCHED_OFF, withoutServers } from '../../common/open.ts'
import { collect, readInteger, readPairs } from '../../common/params.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  Interrupt,
  ProgressLine,
  printable,
  printableLine,
  type Terminal,
  UsageError,
} from '../../common/terminal.ts'
import { findDocuments, type NotFound } from './find-documents.ts'
import { type IngestReport, type IngestState, ingestFiles } from './ingest-files.ts'

const INGEST_HELP = `
Takes files, folders and quoted patterns. Hidden files, node_modules and links are skipped unless you name them. Files
that have not changed since the last run are skipped, so an interrupted run continues where it stopped.

Examples:
  $ toolyard ingest docs README.md
  $ toolyard ingest 'src/**/*.ts' --collection code
  $ toolyard ingest manual.pdf --collection products --metadata product=kettle --metadata lang=en`

export function defineIngest(command: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  command
    .argument('<paths...>', 'files, folders and patterns')
    .option('--collection <name>', 'the collection to add to', 'docs')
    .option('--metadata <key=value>', 'stored with each document and returned with every result; repeatable', collect)
    .option('--chunk-size <characters>', 'maximum length of a chunk (default: what fits the embedding model)')
    .addHelpText('after', INGEST_HELP)
    .action(run(ingest))
}

export interface IngestOptions extends GlobalOptions {
  readonly collection: string
  readonly metadata?: readonly string[]
  readonly chunkSize?: string
}

const TOOL = 'ingest_docs'
const STOPPED = 'Stopped. Run the same command again to continue.'

/** `toolyard ingest`: adds files to a collection; 1 if a file could not be added. */
export async function ingest(terminal: Terminal, words: readonly string[], options: IngestOptions): Promise<number> {
  const metadata = readPairs('--metadata', options.metadata ?? [])
  const size = options.chunkSize
  const chunkSize = size === undefined ? undefined : readInteger('--chunk-size', size, MIN_CHUNK_SIZE, MAX_CHUNK_SIZE)
  const started = performance.now()
  const interrupt = new Interrupt()
  const isolate = new ProcessPool({ memoryMb: EXTRACTION_MEMORY_MB })
  const line = new ProgressLine(terminal)
  let opened: OpenManager | undefined
  try {
    opened = await openManager(terminal, options, { change: withoutServers })
    const { manager } = opened
    const { signal } = interrupt
    const { files, missing } = await findDocuments(words, signal)
    for (const one of missing) line.note(printableLine(sentenceOf(one)))
    const { collection } = options
    const collections = manager.getCollections()
    const { context } = opened
    // The chunks stay in this process: the parameters of a call are JSON.
    const chunks = new Map<string, readonly Piece[]>()
    const keyOf = (documentId: string, part: number): string => `${part} ${documentId}`
    const { definition, handler } = ingestDocsTool(collections, (id, part) => chunks.get(keyOf(id, part)))
    opened.handlers.register(TOOL, handler, { effect: 'idempotent' })
    // Without a configured model the tool isn't registered.
    if (!manager.getRegistry().has(TOOL)) manager.getRegistry().register(definition)
    const report = await ingestFiles(
      files,
      {
        collection,
        metadata,
        chunkSize: chunkSize ?? (await collections.chunkSize()),
        isolate,
        signal,
        versionOf: (id) => collections.versionOf(LOCAL_TENANT, collection, id),
        call: async (params, pieces) => {
          const key = keyOf(params.document_id, params.part)
          chunks.set(key, pieces)
          try {
            return await manager.getExecutor().execute(TOOL, params, { ...context, signal })
          } finally {
            chunks.delete(key)
          }
        },
      },
      {
        onState: (state) => line.show(state.share, progressText(state)),
        onLine: (text) => line.note(printableLine(text)),
      },
    )
    const embedded = signal.aborted || (await embedWaiting(collections, collection, signal, line))
    line.clear()
    if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
    const seconds = Math.round((performance.now() - started) / 100) / 10
    showReport(terminal, { report, missing, collection, seconds, interrupted: interrupt.exitCode !== undefined })
    return interrupt.exitCode ?? (embedded && report.failed.length + missing.length + report.not_tried === 0 ? 0 : 1)
  } catch (error) {
    line.clear()
    if (interrupt.exitCode === undefined) throw error
    terminal.note(STOPPED)
    return interrupt.exitCode
  } finally {
    interrupt.stop()
    await Promise.all([opened?.close(), isolate.close()])
  }
}

/** Embeds chunks that were stored without embeddings. Returns false if that failed. */
async function embedWaiting(
  collections: Collections,
  collection: string,
  signal: AbortSignal,
  line: ProgressLine,
): Promise<boolean> {
  try {
    await collections.embedWaiting(LOCAL_TENANT, collection, { signal })
    return true
  } catch (error) {
    if (!signal.aborted) line.note(printableLine(error instanceof Error ? error.message : String(error)))
    return false
  }
}

interface Ended {
  readonly report: IngestReport
  readonly missing: readonly NotFound[]
  readonly collection: string
  readonly seconds: number
  readonly interrupted: boolean
}

function showReport(terminal: Terminal, { report, missing, collection, seconds, interrupted }: Ended): void {
  const { documents, chunks, unchanged, skipped, not_tried } = report
  const failed = [...missing.map((one) => ({ source: one.path, problem: sentenceOf(one) })), ...report.failed]
  if (terminal.json) {
    terminal.document({ collection, ...report, failed, seconds, ...(interrupted && { interrupted }) })
    return
  }
  const counts = [
    `${counted(documents, 'document')} (${counted(chunks, 'chunk')})`,
    `${unchanged} unchanged`,
    `${skipped.length} skipped`,
    `${failed.length} failed`,
    ...(not_tried > 0 ? [`${not_tried} not tried`] : []),
  ]
  terminal.result(`${printableLine(collection)}: ${counts.join(', ')}, ${seconds.toFixed(1)} s`)
  if (interrupted) terminal.note(STOPPED)
  else if (not_tried > 0) terminal.note('Several documents in a row were rejected: the others were not tried.')
}

const progressText = ({ documents, of, chunks, share }: IngestState): string =>
  `${Math.floor(share * 100)} %, ${documents} of ${of} documents, ${chunks} chunks`

const sentenceOf = ({ path, problem }: NotFound): string => `"${path}": ${problem}`

const MAX_RESULTS = 100
const SEARCH_HELP = `
Without --collection it searches your collection "docs", or Toolyard's own documentation if you have none.

Examples:
  $ toolyard search "how long may a call take"
  $ toolyard search "descaling" --collection products --filter product=kettle --limit 3`

export function defineSearch(command: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  command
    .argument('<question>', 'the question, in your own words')
    .option('--collection <name>', 'the collection to search', 'docs')
    .option('--limit <n>', `maximum number of passages, 1 to ${MAX_RESULTS} (default 5)`)
    .addOption(new Option('--by <method>', 'search method').choices(['hybrid', 'text', 'vector']).default('hybrid'))
    .option('--filter <key=value>', 'only documents with this metadata; repeatable', collect)
    .addHelpText('after', SEARCH_HELP)
    .action(run(search))
}

export interface SearchOptions extends GlobalOptions {
  readonly collection: string
  readonly limit?: string
  readonly by: SearchWay
  readonly filter?: readonly string[]
}

/** `toolyard search`: the best passages of a collection for a question; 0 even if there are none. */
export async function search(terminal: Terminal, query: string, options: SearchOptions): Promise<number> {
  if (query.trim() === '') throw new UsageError('The question is empty.')
  const most = readInteger('--limit', options.limit ?? '5', 1, MAX_RESULTS)
  const filter = readPairs('--filter', options.filter ?? [])
  const { collection, by } = options
  const interrupt = new Interrupt()
  const opened = await openManager(terminal, options, { change: withoutServers })
  try {
    const answer = await opened.manager
      .getCollections()
      .search(
        { tenant: LOCAL_TENANT, collection, query, most, by, ...(options.filter && { filter }) },
        { signal: interrupt.signal },
      )
    showAnswer(terminal, collection, answer)
    return interrupt.exitCode ?? 0
  } catch (error) {
    if (interrupt.exitCode === undefined) throw error
    return interrupt.exitCode
  } finally {
    interrupt.stop()
    await opened.close()
  }
}

function showAnswer(terminal: Terminal, collection: string, answer: SearchAnswer): void {
  if (terminal.json) {
    terminal.document({ collection, ...answer })
    return
  }
  for (const [index, result] of answer.results.entries()) showResult(terminal, index, result)
  if (answer.results.length === 0) terminal.note('No results.')
  if (answer.note !== undefined) terminal.note(printableLine(answer.note))
}

function showResult(terminal: Terminal, index: number, { text, score, source, metadata }: SearchResult): void {
  const heading = metadata.heading === undefined ? '' : `  ${printableLine(metadata.heading)}`
  const place = terminal.style('bold', `${index + 1}. ${printableLine(source)}`)
  terminal.result(`${index === 0 ? '' : '\n'}${place}${heading}  ${terminal.style('dim', score.toFixed(3))}`)
  terminal.result(
    printable(text)
      .trimEnd()
      .split('\n')
      .map((line) => `   ${line}`.trimEnd())
      .join('\n'),
  )
}
