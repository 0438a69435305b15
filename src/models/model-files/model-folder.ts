import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'

const ENDING = '.gguf'

/** Where data lives: `TOOLYARD_DATA`, else `.toolyard` in the current folder. */
export const dataFolder = (env: NodeJS.ProcessEnv = process.env): string => resolve(env.TOOLYARD_DATA || '.toolyard')

/** Where model files live in the data folder. */
export const modelFolder = (data: string): string => join(data, 'models')

/** The file of a model, with or without its ending; undefined where the name would lead out of the folder. */
export function modelFile(data: string, name: string): string | undefined {
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u.test(name)) return undefined
  return join(modelFolder(data), name.endsWith(ENDING) ? name : `${name}${ENDING}`)
}

/** The names of the models that are there, without their ending. */
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
