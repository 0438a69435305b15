import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SCORES as SHIPPED } from '@toolyard/mini'
import { expect, onTestFinished, test } from 'vitest'
import { type ModelScores, readScores } from './model-scores.ts'

const ROW = { name: 'a', own: false, call_wanted: true, cases: 4, right: 3, wrong: { 'no call': 1 } }
const SCORES: ModelScores = { rules: 'BFCL v4', categories: [{ ...ROW, measured: '2026-11-16' }] }

async function readBack(text: string): Promise<ModelScores | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-scores-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'scores.json'), text)
  return readScores(join(folder, 'scores.json'))
}

test('the scores that come with the weights name every case once, as right or as wrong', async () => {
  const scores = await readScores(SHIPPED)
  expect(scores?.rules).toBe('BFCL v4')
  expect(scores?.categories.map(({ name }) => name)).toEqual(expect.arrayContaining(['simple_python', 'irrelevance']))
  for (const { cases, right, wrong } of scores?.categories ?? []) {
    expect(Object.values(wrong).reduce((sum, times) => sum + times, right)).toBe(cases)
  }
})

test('a file of scores is read', async () => {
  expect(await readBack(JSON.stringify(SCORES))).toEqual(SCORES)
})

test.each([
  ['that is cut off', JSON.stringify(SCORES).slice(0, 40)],
  ['that is empty', ''],
  ['of another form', '{"rules": "BFCL v4"}'],
  ['without a category', JSON.stringify({ ...SCORES, categories: [] })],
  ['with a row that lacks its day', JSON.stringify({ ...SCORES, categories: [ROW] })],
  ['with no cases', JSON.stringify(SCORES).replace('"cases":4', '"cases":0')],
  ['with more right than there are', JSON.stringify(SCORES).replace('"right":3', '"right":5')],
])('a file %s means no scores', async (_, text) => {
  expect(await readBack(text)).toBeUndefined()
})

test('no file means no scores', async () => {
  expect(await readScores(join(tmpdir(), 'no-such-folder', 'scores.json'))).toBeUndefined()
})
