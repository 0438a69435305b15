import { describe, expect, test } from 'vitest'
import { openProblems, problemsByField, withGivenValue } from './problems-by-field.ts'

const missing = { path: 'location', rule: 'required', expected: true }
const wrong = { path: 'user.emails[0]', rule: 'format', expected: 'email' }

describe('the problems of a call', () => {
  test('appear at their fields', () => {
    expect(problemsByField([missing, wrong])).toEqual({
      location: { __errors: ['location is required.'] },
      user: { emails: { 0: { __errors: ['Must match format email'] } } },
    })
  })

  test('are gone as soon as their field has changed', () => {
    const sent = { user: { emails: ['x'] } }
    expect(openProblems([missing, wrong], sent, sent)).toEqual([missing, wrong])
    expect(openProblems([missing, wrong], sent, { ...sent, location: 'Paris' })).toEqual([wrong])
    expect(openProblems([missing, wrong], sent, { user: { emails: ['x@y.z'] } })).toEqual([missing])
  })
})

test('the choices of an enum contain a value that is not allowed', () => {
  const choices = [{ value: 'small', label: 'small' }]
  expect(withGivenValue(choices, 'small')).toEqual(choices)
  expect(withGivenValue(choices, undefined)).toEqual(choices)
  expect(withGivenValue(choices, 'huge')).toEqual([...choices, { value: 'huge', label: '"huge" (not allowed)' }])
})
