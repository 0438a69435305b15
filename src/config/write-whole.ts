import { randomUUID } from 'node:crypto'
import { mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a file atomically: readers see the old or the new contents. A link stays a link. */
export async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  const target = await realpath(file).catch(() => file)
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => undefined,
  )
  const next = `${target}.${randomUUID()}.next`
  try {
    const handle = await open(next, 'wx', mode)
    await handle.writeFile(text).finally(() => handle.close())
    await rename(next, target)
  } catch (error) {
    await rm(next, { force: true }).catch(() => {})
    throw new Error(`${file} could not be written: ${(error as NodeJS.ErrnoException).code}.`, {
      cause: error,
    })
  }
}
