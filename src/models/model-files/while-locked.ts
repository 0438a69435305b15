import { open, readFile, rm } from 'node:fs/promises'
import { ModelFileError } from './model-file-error.ts'

/** Runs `work` while no other process does, by a file with the id of its owner; a file of the dead does not count. */
export async function whileLocked<T>(file: string, work: () => Promise<T>): Promise<T> {
  if (!(await take(file))) {
    const owner = Number(await readFile(file, 'utf8').catch(() => ''))
    if (isAlive(owner))
      throw new ModelFileError(`Process ${owner} is adding this model already: wait for it, or end it.`)
    await rm(file, { force: true })
    if (!(await take(file))) throw new ModelFileError('Another process is adding this model already: wait for it.')
  }
  try {
    return await work()
  } finally {
    await rm(file, { force: true })
  }
}

async function take(file: string): Promise<boolean> {
  try {
    const handle = await open(file, 'wx')
    await handle.writeFile(String(process.pid)).finally(() => handle.close())
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It is there, but somebody else's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
