import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { UsageError } from '../usage-error.ts'

/** Writes a file that is not there yet: one that somebody has edited is never overwritten. */
export async function writeNew(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text, { flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new UsageError(`${file} is there already: remove it, or name another file.`)
    throw new Error(`${file} could not be written: the system says ${code}.`, { cause: error })
  }
}
