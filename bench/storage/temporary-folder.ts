import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder of its own, and the way to remove it; at the latest that happens when this process ends. */
export async function temporaryFolder(): Promise<{ readonly folder: string; remove(): void }> {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-bench-'))
  const remove = () => {
    process.off('exit', remove)
    rmSync(folder, { recursive: true, force: true })
  }
  process.on('exit', remove)
  return { folder, remove }
}
