import { expect, test } from 'vitest'
import { replySaid } from './reply-said.ts'
import { newRun } from './run-state.ts'
import type { Reply } from './threads.ts'

const RUN: Reply = newRun('mini', 'How are you?', 0)
const said = (change: object): string => replySaid({ ...RUN, ...change } as Reply, 'Mini')

test('says nothing while the model responds', () => {
  expect(said({ turns: [{ ...RUN.turns[0], text: 'I am' }] })).toBe('')
})

test('says the answer without Markdown, cut after 300 characters', () => {
  expect(said({ status: 'done', answer: { content: 'I am **fine**:\n\n- very `fine`' } })).toBe(
    'Mini: I am fine:\nvery fine',
  )
  expect(said({ status: 'done', answer: { content: 'word '.repeat(100) } }).length).toBeLessThan(310)
  expect(said({ status: 'done', answer: { content: '' } })).toBe('Mini: The answer is empty.')
})

test('says what failed, and which calls wait for approval', () => {
  expect(said({ status: 'failed', problem: 'The provider hung up.' })).toBe('Mini: Failed. The provider hung up.')
  expect(said({ status: 'done', answer: { content: '', error: 'No key.' } })).toBe('Mini: Failed. No key.')
  expect(said({ status: 'cancelled', problem: 'You cancelled the run.' })).toBe('Mini: You cancelled the run.')
  const approvals = [{ tool: 'pay' }, { tool: 'open_door' }]
  expect(said({ status: 'waiting', answer: { content: 'I wait.', approvals } })).toBe(
    'Mini: Approval required for pay, open_door.',
  )
})
