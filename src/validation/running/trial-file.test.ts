import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ObservedTurn } from '../suites/suite.ts'
import { answering, handCase, handSuite, weather } from './fixtures/hand-made.ts'
import { SuiteRunner } from './suite-runner.ts'
import { hashSuite, planTrials, type Trial } from './trial.ts'
import { TrialFile } from './trial-file.ts'

const KEY = { key: 'k', fresh: false }
const names = ['one', 'two', 'three']
const suite = hashSuite(
  handSuite(
    'hand',
    names.map((id) => handCase(id)),
  ),
)
const model = { model: answering('scripted:paris', (_, asked) => weather(asked === 2 ? 'Rome' : 'Paris')) }
const planned = planTrials([suite], model, 1)
let folder = ''
const trials: Trial[] = []
let files = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-trials-'))
  const onTrial = (trial: Trial): void => void trials.push(trial)
  await new SuiteRunner({ suites: [suite], models: [model], concurrency: 1, onTrial }).run()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** A closed file with some trials. */
async function written(count: number): Promise<string> {
  const path = join(folder, 'deeper', `${++files}.jsonl`)
  const file = await TrialFile.open(path, KEY)
  for (const trial of trials.slice(0, count)) await file.add(trial)
  await file.close()
  return path
}

async function found(path: string, options = KEY) {
  const file = await TrialFile.open(path, options)
  await file.close()
  return [...file.read(planned).values()]
}

describe('a trial file', () => {
  test('returns stored trials, marked as resumed', async () => {
    const back = await found(await written(3))
    expect(back).toEqual(trials.map(({ usage: _usage, ...trial }) => ({ ...trial, resumed: true })))
    expect(back.map(({ verdict }) => verdict.passed)).toEqual([true, false, true])
  })

  test('ignores an incomplete last line, and continues on a new one', async () => {
    const path = await written(2)
    await appendFile(path, '{"suite":"hand","ca')
    const file = await TrialFile.open(path, KEY)
    expect(file.read(planned).size).toBe(2)
    await file.add(trials[2] as Trial)
    await file.close()
    expect(await found(path)).toHaveLength(3)
  })

  test('skips a damaged line in the middle', async () => {
    const path = await written(3)
    const lines = (await readFile(path, 'utf8')).split('\n')
    await writeFile(path, [...lines.slice(0, 2), '\u0000{"suite":', ...lines.slice(2)].join('\n'))
    expect(await found(path)).toHaveLength(3)
  })

  test('starts over after a finished run, and with `fresh`', async () => {
    const path = await written(3)
    expect(await found(path, { ...KEY, fresh: true })).toEqual([])
    const file = await TrialFile.open(path, KEY)
    await file.add(trials[0] as Trial)
    await file.finish()
    await file.close()
    expect(await found(path)).toEqual([])
    expect((await readFile(path, 'utf8')).trim().split('\n')).toHaveLength(1)
  })

  test('rejects an unfinished run of another plan', async () => {
    const path = await written(3)
    const before = await readFile(path, 'utf8')
    await expect(TrialFile.open(path, { key: 'other', fresh: false })).rejects.toThrow(/other suites.*--fresh/)
    expect(await readFile(path, 'utf8')).toBe(before)
  })

  test.each([KEY, { ...KEY, fresh: true }])(
    'rejects another kind of file without changing it (%j)',
    async (options) => {
      const path = join(folder, `${++files}.txt`)
      await writeFile(path, 'My only copy.\n')
      await expect(TrialFile.open(path, options)).rejects.toThrow(/isn't a trial file and was not changed/)
      expect(await readFile(path, 'utf8')).toBe('My only copy.\n')
    },
  )

  test('names a path that can’t be written', async () => {
    const path = join(await written(1), 'below.jsonl')
    await expect(TrialFile.open(path, KEY)).rejects.toThrow(
      /below\.jsonl can't be used for trials: the system reports E/,
    )
  })

  test('judges stored answers by the current expectation', async () => {
    const path = await written(3)
    const judge = ([turn]: readonly ObservedTurn[]) =>
      turn?.calls[0]?.params?.city === 'Rome'
        ? ({ passed: true } as const)
        : ({ passed: false, kind: 'wrong_value', message: 'It must be Rome.' } as const)
    const changed = hashSuite(
      handSuite(
        'hand',
        names.map((id) => handCase(id, { judge })),
      ),
    )
    const file = await TrialFile.open(path, KEY)
    await file.close()
    const back = file.read(planTrials([changed], model, 1))
    expect([...back.values()].map(({ verdict }) => verdict.passed)).toEqual([false, true, false])
  })

  test('stores only the verdict of a very long trial', async () => {
    const path = await written(0)
    const [first] = trials
    const file = await TrialFile.open(path, KEY)
    const turns = [{ calls: [], answer: 'x'.repeat(100_000) }]
    await file.add({ ...(first as Trial), turns, verdict: { passed: false, kind: 'wrong_count', message: 'None.' } })
    await file.close()
    expect((await readFile(path)).length).toBeLessThan(2_000)
    expect(await found(path)).toMatchObject([{ turns: [], verdict: { kind: 'wrong_count' } }])
  })
})

describe('the hash of a suite', () => {
  const hashOf = (changes: Parameters<typeof handCase>[1]) =>
    hashSuite(handSuite('hand', [handCase('one', changes)])).hash

  test('changes with the requests, but not with the expectations', () => {
    const plain = hashOf({})
    expect(hashOf({ judge: () => ({ passed: true }) })).toBe(plain)
    const others = [
      hashOf({ turns: [[{ role: 'user', content: 'Hello' }]] }),
      hashOf({ tools: [] }),
      hashOf({ mocks: { weather: 1 } }),
      hashOf({ max_iterations: 2 }),
    ]
    expect(new Set([plain, ...others]).size).toBe(5)
  })
})
