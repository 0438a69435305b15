import type { Command } from 'commander'
import { LOCAL_TENANT } from '../../core/call.ts'
import { ProcessPool } from '../../isolation/process-pool.ts'
import type { Collections } from '../../knowledge/collections/collections.ts'
import { EXTRACTION_MEMORY_MB } from '../../knowledge/documents/extraction.ts'
import { MAX_CHUNK_SIZE, MIN_CHUNK_SIZE, type Piece } from '../../knowledge/documents/split-document.ts'
import { ingestDocsTool } from '../../knowledge/tools/ingest-docs.ts'
import type { GlobalOptions } from '../global-options.ts'
import { findDocuments, type NotFound } from '../ingest/find-documents.ts'
import { type IngestReport, ingestFiles } from '../ingest/ingest-files.ts'
import { ProgressLine } from '../ingest/progress-line.ts'
import { Interrupt } from '../interrupt.ts'
import { type OpenManager, openManager, SWITCHED_OFF, withoutServers } from '../open.ts'
import { printableLine } from '../printable.ts'
import { collect, readPairs } from '../read-pairs.ts'
import type { Done, Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

const HELP = `
Takes files, folders and quoted patterns. Hidden files, node_modules and links are skipped unless you name them. Files
that have not changed since the last run are skipped, so an interrupted run continues where it stopped.

Examples:
  $ toolyard ingest docs README.md
  $ toolyard ingest 'src/**/*.ts' --collection code
  $ toolyard ingest manual.pdf --collection products --metadata product=kettle --metadata lang=en`

/** Defines `toolyard ingest`. */
export function defineIngest(command: Command, terminal: Terminal, done: Done): void {
  command
    .argument('<paths...>', 'files, folders and patterns')
    .option('--collection <name>', 'the collection to add to', 'docs')
    .option('--metadata <key=value>', 'stored with each document and returned with every result; repeatable', collect)
    .option('--chunk-size <characters>', 'maximum length of a chunk (default: what fits the embedding model)')
    .addHelpText('after', HELP)
    .action(async (paths: string[], _, command: Command) =>
      done(await ingest(terminal, paths, command.optsWithGlobals())),
    )
}

export interface IngestOptions extends GlobalOptions {
  readonly collection: string
  readonly metadata?: readonly string[]
  readonly chunkSize?: string
}

const TOOL = 'ingest_docs'
const STOPPED = 'Stopped. The same command goes on where it stopped.'

/** `toolyard ingest`: puts files into a collection; 0 where all are in, 1 where one is not. */
export async function ingest(terminal: Terminal, words: readonly string[], options: IngestOptions): Promise<number> {
  const metadata = readPairs('--metadata', options.metadata ?? [])
  const chunkSize = readChunkSize(options.chunkSize)
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
    // Parameters of a call are JSON; the chunks of the part beside them stay in this process.
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
      { onState: (state) => line.show(state), onLine: (text) => line.note(printableLine(text)) },
    )
    const whole = signal.aborted || (await makeVectors(collections, collection, signal, line))
    line.clear()
    if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
    const seconds = Math.round((performance.now() - started) / 100) / 10
    show(terminal, { report, missing, collection, seconds, interrupted: interrupt.exitCode !== undefined })
    return interrupt.exitCode ?? (whole && report.failed.length + missing.length + report.not_tried === 0 ? 0 : 1)
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

/** What was put in while nothing made vectors gets them now. Whether that worked. */
async function makeVectors(
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

function show(terminal: Terminal, { report, missing, collection, seconds, interrupted }: Ended): void {
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
  else if (not_tried > 0) terminal.note('The same happened to several in a row: the others were not tried.')
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

const sentenceOf = ({ path, problem }: NotFound): string => `"${path}": ${problem}`

function readChunkSize(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const size = Number(text)
  if (/^\d{1,6}$/.test(text) && size >= MIN_CHUNK_SIZE && size <= MAX_CHUNK_SIZE) return size
  const range = `from ${MIN_CHUNK_SIZE} to ${MAX_CHUNK_SIZE}`
  throw new UsageError(`--chunk-size takes a number of characters ${range}, not '${printableLine(text)}'.`)
}
