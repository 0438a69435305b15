import { expect, test } from 'vitest'
import { stepFacts } from './step-facts.ts'

test('shows the result of a call, and the error of another', () => {
  expect(stepFacts({ params: { a: 1 }, result: { success: true, result: [1] } })).toEqual({
    failed: false,
    result: [1],
    hasPayload: true,
  })
  expect(stepFacts({ result: { success: false, error: 'It broke', error_code: 'TIMEOUT' } })).toEqual({
    failed: true,
    error: 'TIMEOUT: It broke',
    hasPayload: true,
  })
})

test('knows that nothing is stored', () => {
  expect(stepFacts({ result: { success: false, error_code: 'TIMEOUT' } })).toEqual({
    failed: true,
    error: 'TIMEOUT',
    hasPayload: false,
  })
  expect(stepFacts({})).toEqual({ failed: false, hasPayload: false })
})
