import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Log } from '../../core/log.ts'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { openStorage } from '../../storage/open-storage.ts'

/** A store for knowledge that does not outlive the process. */
export interface TemporaryStore {
  readonly knowledge: KnowledgeStore
  /** Lets go of it, and of all that is in it. */
  close(): Promise<void>
}

/** Opens a store of its own in the folder for temporary files, which goes with it, or with the process. */
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
