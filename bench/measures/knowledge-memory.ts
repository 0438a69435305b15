import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findDocuments } from '../../src/cli/commands/ingest/find-documents.ts'
import { ingestFiles } from '../../src/cli/commands/ingest/ingest-files.ts'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { ProcessPool } from '../../src/isolation/process-pool.ts'
import { Collections } from '../../src/knowledge/collections/collections.ts'
import type { IngestPart } from '../../src/knowledge/collections/ingest-part.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { MadeUpText } from '../knowledge/made-up-text.ts'
import { standInEmbedder } from '../knowledge/stand-in-embedder.ts'
import { temporaryFolder } from '../storage/temporary-folder.ts'

export interface KnowledgeMemoryOptions {
  readonly files: number
  /** Of each; every hundredth is sixteen times as large. */
  readonly characters: number
  readonly chunkSize: number
}

export interface KnowledgeMemoryResult {
  readonly megabytes: number
  readonly chunks: number
  readonly seconds: number
  /** Of this process before, and the most while it worked. */
  readonly beforeMb: number
  readonly peakMb: number
}

/** Takes in a folder as `toolyard ingest` does, in a process that does nothing else. */
export async function knowledgeMemory(options: KnowledgeMemoryOptions): Promise<KnowledgeMemoryResult> {
  const { folder, remove } = await temporaryFolder()
  const bytes = await makeFiles(folder, options)
  const { files } = await findDocuments([folder])
  const storage = await openStorage(
    { folder: join(folder, '.store'), instance: randomUUID(), keepDays: 7 },
    { log: silentLog },
  )
  const embedder = standInEmbedder()
  const collections = new Collections({
    store: async () => storage.knowledge,
    embedder: async () => embedder,
    log: silentLog,
    clock: systemClock,
  })
  const isolate = new ProcessPool()
  globalThis.gc?.()
  const beforeMb = process.memoryUsage.rss() / 1e6
  let peakMb = 0
  const watch = setInterval(() => {
    peakMb = Math.max(peakMb, process.memoryUsage.rss() / 1e6)
  }, 20)
  const started = performance.now()
  const report = await ingestFiles(
    files,
    {
      collection: 'bench',
      metadata: {},
      chunkSize: options.chunkSize,
      isolate,
      signal: new AbortController().signal,
      versionOf: (id) => collections.versionOf('local', 'bench', id),
      call: async (params, chunks) => {
        const result = await collections.ingest({ ...params, chunks, tenant: 'local' } as unknown as IngestPart)
        return { success: true, result, tool_name: 'ingest_docs', execution_time_ms: 0 }
      },
    },
    { onState: () => {}, onLine: () => {} },
  )
  const seconds = (performance.now() - started) / 1000
  clearInterval(watch)
  if (report.failed.length > 0) throw new Error(report.failed[0]?.problem)
  await isolate.close()
  await storage.close()
  remove()
  return { megabytes: bytes / 1e6, chunks: report.chunks, seconds, beforeMb, peakMb }
}

/** One text is made once: to make a gigabyte of them takes minutes, and only its place differs. */
async function makeFiles(folder: string, { files, characters }: KnowledgeMemoryOptions): Promise<number> {
  const text = new MadeUpText(9)
  const bodies = Array.from({ length: 8 }, () => text.document(characters))
  let bytes = 0
  for (let file = 0; file < files; file++) {
    const body = bodies[file % bodies.length] as string
    const content = `# File ${file}\n\n${file % 100 === 99 ? body.repeat(16) : body}`
    bytes += content.length
    await writeFile(join(folder, `file-${file}.md`), content)
  }
  return bytes
}
