import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

const ENDING = '.gguf'

export const modelFolder = (data: string): string => join(data, 'models')

/** The file of a model, with or without its extension; undefined if the name isn't a plain file name. */
export function modelFile(data: string, name: string): string | undefined {
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u.test(name)) return undefined
  return join(modelFolder(data), name.endsWith(ENDING) ? name : `${name}${ENDING}`)
}

/** The installed models, without the extension. */
export async function modelNames(data: string): Promise<string[]> {
  const files = await readdir(modelFolder(data)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return files
    .filter((file) => file.endsWith(ENDING))
    .map((file) => file.slice(0, -ENDING.length))
    .sort()
}
