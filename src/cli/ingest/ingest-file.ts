import { stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import type { Isolate } from '../../core/isolate.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import { UnreadableDocument } from '../../knowledge/documents/document.ts'
import { readDocumentFile } from '../../knowledge/documents/read-document.ts'
import { documentId, type Piece, splitDocument } from '../../knowledge/documents/split-document.ts'
import { documentCalls } from './document-calls.ts'
import { fileVersion } from './file-version.ts'
import type { FoundFile } from './find-documents.ts'

/** Larger ones are refused without being read. */
const MOST_BYTES = 64 * 1024 * 1024
/** What was made before the time was up is kept, so that the next attempt gets further. */
const MOST_ATTEMPTS = 10

/** The parameters that name a part. */
export interface PartParams extends Record<string, unknown> {
  readonly document_id: string
  readonly part: number
}

/** What a file is brought in with. */
export interface IngestContext {
  readonly collection: string
  readonly metadata: Readonly<Record<string, string>>
  readonly chunkSize: number
  readonly isolate: Isolate
  readonly signal: AbortSignal
  /** The version of a document that is in the collection. */
  versionOf(documentId: string): Promise<string | undefined>
  /** Calls `ingest_docs` for one part of a document, with the chunks that the part consists of. */
  call(params: PartParams, chunks: readonly Piece[]): Promise<ToolResult>
  /** So many more chunks are in. */
  onChunks(count: number): void
}

/** What became of a file. */
export type FileOutcome =
  | { readonly outcome: 'ingested'; readonly chunks: number; readonly warnings: readonly string[] }
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'cancelled' }
  /** `refused`: by the tool and not for what the file is. */
  | { readonly outcome: 'skipped' | 'failed' | 'refused'; readonly problem: string }

/** Brings one file in: nothing of it is found before all of it is in. */
export async function ingestFile(file: FoundFile, context: IngestContext): Promise<FileOutcome> {
  try {
    return await ingest(file, context)
  } catch (error) {
    if (context.signal.aborted) return { outcome: 'cancelled' }
    if (!(error instanceof UnreadableDocument)) {
      const { code } = Object(error) as { code?: unknown }
      if (typeof code !== 'string') throw error
      return { outcome: 'failed', problem: `Document "${sourceOf(file.path)}" cannot be read (${code})` }
    }
    // A picture among documents is none of them; one that was asked for by its name was meant to be.
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
  // One that has become empty takes away what was there before.
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

/** A file, and not one that is refused for its size; all that is wrong with others is said when they are read. */
async function isWorthHashing(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() === true && found.size <= MOST_BYTES
}

async function untilDone(attempt: () => Promise<ToolResult>): Promise<ToolResult> {
  let result = await attempt()
  for (let again = 1; !result.success && result.error_code === 'TIMEOUT' && again < MOST_ATTEMPTS; again++) {
    result = await attempt()
  }
  return result
}

function failureOf(result: ToolResult & { success: false }, source: string): FileOutcome {
  if (result.error_code === 'CANCELLED') return { outcome: 'cancelled' }
  return { outcome: 'refused', problem: `Document "${source}" was not taken in: ${result.error}` }
}

/** What a document is known by: its path from the current folder, or all of it where it is elsewhere. */
export function sourceOf(path: string): string {
  const from = relative('.', path)
  const below = from !== '' && !from.startsWith('..') && !isAbsolute(from)
  return (below ? from : resolve(path)).split(sep).join('/')
}
