import type { CallContext } from '../../core/call-context.ts'
import { ToolExecutor } from '../../core/execution/tool-executor.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import type { Isolate } from '../../core/handler.ts'
import { kinds } from '../../kinds/kinds.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import { documentCalls } from '../../knowledge/collections/document-calls.ts'
import { UnreadableDocument } from '../../knowledge/documents/document.ts'
import { readDocument } from '../../knowledge/documents/read-document.ts'
import { documentId, type Piece, splitDocument } from '../../knowledge/documents/split-document.ts'
import { ingestDocsTool } from '../../knowledge/tools/collection-tools.ts'
import type { Installation } from '../installation.ts'
import { SetupError } from './setup-error.ts'

export interface DroppedFile {
  readonly collection: string
  readonly name: string
  readonly bytes: Uint8Array
}

const TOOL = 'ingest_docs'

/** Stores a file in a collection of the caller's tenant, with recorded calls of `ingest_docs`. */
export async function ingestDocument(
  { collection, name, bytes }: DroppedFile,
  context: CallContext & { readonly signal: AbortSignal },
  { installation, isolate }: { readonly installation: Installation; readonly isolate: Isolate },
): Promise<{ readonly document_id: string; readonly chunks: number; readonly warnings: readonly string[] }> {
  const { manager, log, clock, sink, budgets } = installation
  const collections = manager.getCollections()
  const { tenant, signal } = context
  const document = await readDocument(bytes, { name, isolate, signal, ...(tenant && { tenant }) }).catch(
    (error: unknown) => {
      throw error instanceof UnreadableDocument ? new SetupError(422, error.message) : error
    },
  )
  const pieces = splitDocument(document, { chunkSize: await collections.chunkSize() })
  const calls = documentCalls(document.text, pieces)
  const parts = new Map<number, readonly Piece[]>(calls.map(({ chunks }, at) => [at + 1, chunks]))
  // Models aren't offered this tool unless the configuration lists it, so it has a registry of its own.
  const { definition, handler } = ingestDocsTool(collections, (_, part) => parts.get(part))
  const handlers = new ToolHandlers()
  handlers.register(TOOL, handler, { effect: 'idempotent' })
  const registry = new ToolRegistry({ log })
  registry.register(definition)
  const executor = new ToolExecutor(registry, { kinds: kinds(handlers, { log }), log, clock, sinks: [sink, budgets] })
  const document_id = documentId(name)
  const shared = { collection, document_id, source: name, metadata: { title: document.title }, parts: calls.length }
  for (const [at, { content }] of calls.entries()) {
    const result = await executor.execute(TOOL, { ...shared, part: at + 1, content }, context)
    if (!result.success) throw new SetupError(422, `"${name}" was not stored: ${result.error}`)
  }
  const empty = calls.length === 0 ? ['It has no text: nothing was stored'] : []
  return { document_id, chunks: pieces.length, warnings: [...document.warnings, ...empty] }
}
