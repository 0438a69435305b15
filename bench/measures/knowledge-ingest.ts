import { randomUUID } from 'node:crypto'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { Collections } from '../../src/knowledge/collections/collections.ts'
import { openEmbedder } from '../../src/knowledge/embedding/open-embedder.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { MadeUpText } from '../knowledge/made-up-text.ts'
import { standInEmbedder } from '../knowledge/stand-in-embedder.ts'
import { type LoopPauses, loopPauses } from '../storage/loop-pauses.ts'
import { temporaryFolder } from '../storage/temporary-folder.ts'

export interface KnowledgeIngestOptions {
  /** The model that runs on this machine; else the stand-in. */
  readonly real: boolean
  readonly documents: number
  readonly characters: number
}

export interface KnowledgeIngestResult {
  readonly chunks: number
  readonly perSecond: number
  /** What a chunk costs this process, all its threads together. */
  readonly cpuUs: number
  readonly pauses: LoopPauses
}

/** Documents on their way at a time. */
const AT_A_TIME = 4

/** Takes documents in as `ingest_docs` does: cut, embedded, kept. */
export async function knowledgeIngest(options: KnowledgeIngestOptions): Promise<KnowledgeIngestResult> {
  const { folder, remove } = await temporaryFolder()
  const storage = await openStorage({ folder, instance: randomUUID(), keepDays: 7 }, { log: silentLog })
  const embedder = options.real ? await openEmbedder('local:minilm-l6-v2') : standInEmbedder()
  const collections = new Collections({
    store: async () => storage.knowledge,
    embedder: async () => embedder,
    log: silentLog,
    clock: systemClock,
  })
  const text = new MadeUpText(1)
  const documents = Array.from({ length: options.documents }, () => text.document(options.characters))
  const take = async (content: string, at: number | string): Promise<number> =>
    (await collections.ingest({ tenant: 'local', collection: 'bench', document_id: `document ${at}`, content })).chunks
  // Opens what the first use opens.
  await take(text.document(500), 'of before')
  let [chunks, at] = [0, 0]
  const work = async () => {
    for (let one = at++; one < documents.length; one = at++) {
      const taken = await take(documents[one] as string, one)
      chunks += taken
    }
  }
  let [seconds, cpuUs] = [0, 0]
  const pauses = await loopPauses(async () => {
    const [started, before] = [performance.now(), process.cpuUsage()]
    await Promise.all(Array.from({ length: AT_A_TIME }, work))
    seconds = (performance.now() - started) / 1000
    const { user, system } = process.cpuUsage(before)
    cpuUs = (user + system) / chunks
  })
  await embedder.close()
  await storage.close()
  remove()
  return { chunks, perSecond: chunks / seconds, cpuUs, pauses }
}
