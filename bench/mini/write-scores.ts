import { existsSync, writeFileSync } from 'node:fs'
import { SCORES } from '../../packages/mini/src/index.ts'
import { type CategoryScore, readScores } from '../../src/models/model-scores.ts'
import { changeBetweenMarkers } from '../between-markers.ts'
import { mergeScores, scoresTable } from './scores.ts'

const PAGE = new URL('../../docs/guides/mini.md', import.meta.url)

/** Puts rows into packages/mini/scores.json, and the whole table into docs/guides/mini.md; rows that were not measured stay. */
export async function writeScores(measured: readonly CategoryScore[], file = SCORES, page = PAGE): Promise<void> {
  const known = await readScores(file)
  if (known === undefined && existsSync(file)) {
    throw new Error(`${file.pathname} is damaged: repair it, or delete it and measure everything again.`)
  }
  const scores = mergeScores(known, measured)
  changeBetweenMarkers(page, 'node bench/mini/score.ts --write', () => scoresTable(scores))
  writeFileSync(file, `${JSON.stringify(scores, null, 2)}\n`)
}
