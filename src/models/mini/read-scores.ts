import { readFile } from 'node:fs/promises'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { MODEL_SCORES_SCHEMA, type ModelScores } from '../model-scores.ts'

/** The scores that come with the weights. */
export const SCORES = new URL('../../../mini/scores.json', import.meta.url)

/** The scores in a file; nothing where there is none, or it is damaged: the model answers without them. */
export async function readScores(file: string | URL = SCORES): Promise<ModelScores | undefined> {
  try {
    const read: unknown = JSON.parse(await readFile(file, 'utf8'))
    return isScores(read) ? read : undefined
  } catch {
    return undefined
  }
}

const isScores = (read: unknown): read is ModelScores =>
  compileSchema(MODEL_SCORES_SCHEMA).check?.(read) === true &&
  (read as ModelScores).categories.every(({ cases, right }) => right <= cases)
