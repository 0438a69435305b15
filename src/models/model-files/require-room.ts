import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ModelFileError } from './model-file-error.ts'

const inMegabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`

/** Throws where the disk cannot hold so many bytes more. */
export async function requireRoom(file: string, bytes: number): Promise<void> {
  const folder = dirname(file)
  const { bavail, bsize } = await statfs(folder)
  if (bytes <= bavail * bsize) return
  throw new ModelFileError(
    `There is no room: ${inMegabytes(bytes)} are still to come, and the disk of ${folder} has ${inMegabytes(bavail * bsize)} ` +
      'left. Make room, or set TOOLYARD_DATA to a folder on another disk.',
  )
}
