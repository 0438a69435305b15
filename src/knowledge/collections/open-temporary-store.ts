import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Log } from '../../core/log.ts'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { openStorage } from '../../storage/open-storage.ts'

export interface TemporaryStore {
  readonly knowledge: KnowledgeStore
  close(): Promise<void>
}

/** Opens a knowledge store in a temporary folder, which is deleted on close or exit. */
export async function openTemporaryStore({ log }: { readonly log: Log }): Promise<TemporaryStore> {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-knowledge-'))
  const forget = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', forget)
  const remove = async () => {
    process.off('exit', forget)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const storage = await openStorage({ folder, instance: randomUUID(), keepDays: 1 }, { log })
    return {
      knowledge: storage.knowledge,
      async close() {
        await storage.close()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}
