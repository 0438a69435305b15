import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import type { Isolate } from '../../../core/handler.ts'
import type { ToolResult } from '../../../core/tool-result.ts'
import { MAX_CHUNKS } from '../../../knowledge/collections/ingest-part.ts'
import { UnreadableDocument } from '../../../knowledge/documents/document.ts'
import { readDocumentFile } from '../../../knowledge/documents/read-document.ts'
import { contentVersion, documentId, type Piece, splitDocument } from '../../../knowledge/documents/split-document.ts'
import type { FoundFile } from './find-documents.ts'

/** Parallel files: some wait for embeddings while others are read. */
const CONCURRENCY = 4
/** The maximum size of the files in memory, unless a single file is larger. */
const MAX_BYTES_IN_MEMORY = 16 * 1024 * 1024
/** After this many consecutive rejections, the cause isn't the files: the run stops. */
const MAX_REJECTIONS = 3

interface FileProblem {
  readonly source: string
  readonly problem: string
}

export interface IngestReport {
  /** New and changed documents. */
  readonly documents: number
  readonly chunks: number
  readonly unchanged: number
  readonly skipped: readonly FileProblem[]
  readonly failed: readonly FileProblem[]
  /** Files that were not tried because the run stopped early. */
  readonly not_tried: number
  readonly warnings: readonly FileProblem[]
}

export interface IngestState {
  readonly documents: number
  readonly of: number
  readonly chunks: number
  /** From 0 to 1. */
  readonly share: number
}

interface IngestWatch {
  onState(state: IngestState): void
  /** Receives a message about one file. */
  onLine(line: string): void
}

/** Ingests the files in parallel. A file that cannot be read does not stop the others. */
export async function ingestFiles(
  files: readonly FoundFile[],
  context: Omit<IngestContext, 'onChunks'>,
  watch: IngestWatch,
): Promise<IngestReport> {
  const run = new Run(files, context, watch)
  await Promise.all(Array.from({ length: CONCURRENCY }, () => run.work()))
  return run.report()
}

class Run {
  readonly #files: readonly FoundFile[]
  readonly #context: IngestContext
  readonly #watch: IngestWatch
  readonly #room = new Room(MAX_BYTES_IN_MEMORY)
  readonly #bytes: number
  readonly #skipped: FileProblem[] = []
  readonly #failed: FileProblem[] = []
  readonly #warnings: FileProblem[] = []
  #next = 0
  #doneBytes = 0
  #documents = 0
  #chunks = 0
  #unchanged = 0
  #rejections = 0

  constructor(files: readonly FoundFile[], context: Omit<IngestContext, 'onChunks'>, watch: IngestWatch) {
    this.#files = files
    this.#watch = watch
    this.#bytes = files.reduce((sum, file) => sum + weightOf(file), 0)
    this.#context = {
      ...context,
      onChunks: (count) => {
        this.#chunks += count
        this.#tell()
      },
    }
  }

  async work(): Promise<void> {
    while (!this.#context.signal.aborted && this.#rejections < MAX_REJECTIONS) {
      const file = this.#files[this.#next]
      if (file === undefined) return
      this.#next++
      const outcome = await this.#room.within(file.bytes, () => ingestFile(file, this.#context))
      this.#doneBytes += weightOf(file)
      this.#count(sourceOf(file.path), outcome)
      this.#tell()
    }
  }

  report(): IngestReport {
    const tried = this.#documents + this.#unchanged + this.#skipped.length + this.#failed.length
    return {
      documents: this.#documents,
      chunks: this.#chunks,
      unchanged: this.#unchanged,
      skipped: this.#skipped,
      failed: this.#failed,
      not_tried: this.#files.length - tried,
      warnings: this.#warnings,
    }
  }

  #count(source: string, outcome: FileOutcome): void {
    if (outcome.outcome === 'cancelled') return
    this.#rejections = outcome.outcome === 'rejected' ? this.#rejections + 1 : 0
    if (outcome.outcome === 'unchanged') this.#unchanged++
    else if (outcome.outcome === 'ingested') {
      this.#documents++
      for (const warning of outcome.warnings) {
        this.#warnings.push({ source, problem: warning })
        this.#watch.onLine(`Document "${source}" ${warning}`)
      }
    } else {
      const list = outcome.outcome === 'skipped' ? this.#skipped : this.#failed
      list.push({ source, problem: outcome.problem })
      this.#watch.onLine(outcome.outcome === 'skipped' ? `Skipped: ${outcome.problem}` : outcome.problem)
    }
  }

  #tell(): void {
    const documents = this.#documents + this.#unchanged
    const share = this.#bytes === 0 ? 1 : this.#doneBytes / this.#bytes
    this.#watch.onState({ documents, of: this.#files.length, chunks: this.#chunks, share })
  }
}

/** Small files take time too. */
const weightOf = ({ bytes }: FoundFile): number => bytes + 1_000

interface Waiting {
  readonly size: number
  enter(): void
}

/** Limits the total size of parallel work, in order of arrival. A single piece of work may exceed the limit. */
export class Room {
  readonly #size: number
  readonly #waiting: Waiting[] = []
  #taken = 0

  constructor(size: number) {
    this.#size = size
  }

  async within<T>(size: number, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#waiting.push({ size, enter: resolve })
      this.#admit()
    })
    try {
      return await work()
    } finally {
      this.#taken -= size
      this.#admit()
    }
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#taken > 0 && this.#taken + next.size > this.#size) return
      this.#waiting.shift()
      this.#taken += next.size
      next.enter()
    }
  }
}

/** Larger files are rejected without being hashed. */
const MAX_FILE_BYTES = 64 * 1024 * 1024
/** Each attempt continues where the last one timed out. */
const MAX_ATTEMPTS = 10

interface PartParams extends Record<string, unknown> {
  readonly document_id: string
  readonly part: number
}

interface IngestContext {
  readonly collection: string
  readonly metadata: Readonly<Record<string, string>>
  readonly chunkSize: number
  readonly isolate: Isolate
  readonly signal: AbortSignal
  /** The stored version of a document. */
  versionOf(documentId: string): Promise<string | undefined>
  /** Calls `ingest_docs` for one part of a document. */
  call(params: PartParams, chunks: readonly Piece[]): Promise<ToolResult>
  /** Receives the number of newly stored chunks. */
  onChunks(count: number): void
}

type FileOutcome =
  | { readonly outcome: 'ingested'; readonly chunks: number; readonly warnings: readonly string[] }
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'cancelled' }
  /** `rejected`: by the tool, not because of the file. */
  | { readonly outcome: 'skipped' | 'failed' | 'rejected'; readonly problem: string }

/** Ingests one file. Searches find it only when all its parts are stored. */
async function ingestFile(file: FoundFile, context: IngestContext): Promise<FileOutcome> {
  try {
    return await ingest(file, context)
  } catch (error) {
    if (context.signal.aborted) return { outcome: 'cancelled' }
    if (!(error instanceof UnreadableDocument)) {
      const { code } = Object(error) as { code?: unknown }
      if (typeof code !== 'string') throw error
      return { outcome: 'failed', problem: `Document "${sourceOf(file.path)}" cannot be read (${code})` }
    }
    // Binary files in a folder are skipped, but a named one is an error.
    const outcome = error.reason === 'binary' && !file.named ? 'skipped' : 'failed'
    return { outcome, problem: error.message }
  }
}

async function ingest({ path }: FoundFile, context: IngestContext): Promise<FileOutcome> {
  const { collection, metadata, chunkSize, isolate, signal } = context
  const source = sourceOf(path)
  const document_id = documentId(source)
  const version = (await isWorthHashing(path)) && (await fileVersion(path, { source, metadata, chunkSize }, signal))
  if (version && (await context.versionOf(document_id)) === version) return { outcome: 'unchanged' }
  const document = await readDocumentFile(path, { name: source, isolate, signal })
  const calls = documentCalls(document.text, splitDocument(document, { chunkSize }))
  // An empty document replaces the stored one.
  if (calls.length === 0) calls.push({ content: '', chunks: [] })
  const shared = { collection, document_id, source, metadata: { title: document.title, ...metadata } }
  let chunks = 0
  for (const [index, { content, chunks: pieces }] of calls.entries()) {
    const parts = { part: index + 1, parts: calls.length, ...(version && { version }) }
    const result = await untilDone(() => context.call({ ...shared, ...parts, content }, pieces))
    if (!result.success) return failureOf(result, source)
    chunks += pieces.length
    context.onChunks(pieces.length)
  }
  const empty = chunks === 0 ? ['is empty'] : []
  return { outcome: 'ingested', chunks, warnings: [...document.warnings, ...empty] }
}

/** Skips files that reading rejects anyway. */
async function isWorthHashing(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() === true && found.size <= MAX_FILE_BYTES
}

async function untilDone(attempt: () => Promise<ToolResult>): Promise<ToolResult> {
  let result = await attempt()
  for (let again = 1; !result.success && result.error_code === 'TIMEOUT' && again < MAX_ATTEMPTS; again++) {
    result = await attempt()
  }
  return result
}

function failureOf(result: ToolResult & { success: false }, source: string): FileOutcome {
  if (result.error_code === 'CANCELLED') return { outcome: 'cancelled' }
  return { outcome: 'rejected', problem: `Document "${source}" was not stored: ${result.error}` }
}

/** The path relative to the current folder, or the absolute path of a file outside it. */
function sourceOf(path: string): string {
  const from = relative('.', path)
  const below = from !== '' && !from.startsWith('..') && !isAbsolute(from)
  return (below ? from : resolve(path)).split(sep).join('/')
}

/** A character has up to six bytes in JSON, and a call is limited to 1 MB. */
const MAX_CHARACTERS = 100_000

interface DocumentCall {
  readonly content: string
  readonly chunks: readonly Piece[]
}

/** Splits a document into calls with as many chunks as fit. */
export function documentCalls(text: string, pieces: readonly Piece[]): DocumentCall[] {
  const calls: DocumentCall[] = []
  for (let from = 0; from < pieces.length; ) {
    const to = endOf(pieces, from)
    const chunks = pieces.slice(from, to)
    calls.push({ content: text.slice(chunks[0]?.start, chunks.at(-1)?.end), chunks })
    from = to
  }
  return calls
}

/** The index of the first piece that doesn't fit into the call. */
function endOf(pieces: readonly Piece[], from: number): number {
  const { start } = pieces[from] as Piece
  let to = from + 1
  while (to < pieces.length && to - from < MAX_CHUNKS && (pieces[to] as Piece).end - start <= MAX_CHARACTERS) to++
  return to
}

interface StoredWith {
  readonly source: string
  readonly metadata: Readonly<Record<string, string>>
  readonly chunkSize: number
}

/** Identifies a version by the bytes of the file, so that unchanged files need not be parsed. */
async function fileVersion(
  path: string,
  { source, metadata, chunkSize }: StoredWith,
  signal: AbortSignal,
): Promise<string> {
  const bytes = createHash('sha256')
  for await (const part of createReadStream(path, { signal })) bytes.update(part)
  const version = contentVersion(bytes.digest('hex'), metadata, { chunkSize })
  return hash('sha256', JSON.stringify([version, source]), 'hex').slice(0, 32)
}
