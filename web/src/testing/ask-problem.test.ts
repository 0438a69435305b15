import { expect, test } from 'vitest'
import { askProblem, lastModel } from './ask-problem.ts'
import { DEFAULT_SETTINGS } from './threads.ts'

test('says what a question lacks, and only that', () => {
  const both = 'Please enter a test query and select a model'
  expect(askProblem(' ', [null])).toEqual([both])
  expect(askProblem('', ['a:b'])).toEqual([both, 'The query is missing.'])
  expect(askProblem('Hi', [null, null])).toEqual([both, 'The model is missing.'])
  expect(askProblem('Hi', ['a:b', null])).toEqual([expect.stringContaining('“Compare with (2)” is empty')])
  expect(askProblem('Hi', [null, 'a:b'])).toEqual([expect.stringContaining('“Select Model” is empty')])
  expect(askProblem('Hi', ['a:b', 'a:c'])).toBeUndefined()
})

test('preselects the model of the newest thread that can be used', () => {
  const thread = (updatedAt: number, model: string | null) => ({
    updatedAt,
    settings: { ...DEFAULT_SETTINGS, models: [model] },
  })
  const threads = [thread(1, 'a:1'), thread(3, 'a:gone'), thread(2, 'a:2'), thread(4, null)]
  expect(lastModel(threads, new Set(['a:1', 'a:2']))).toBe('a:2')
  expect(lastModel([], new Set(['a:1']))).toBeNull()
})
