import { describe, expect, test } from 'vitest'
import { openProblems, problemsByField, withGivenValues } from './problems-by-field.ts'

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

test('values that an enum does not allow are added to it, with a mark', () => {
  const size = { enum: ['small'] }
  const schema = {
    type: 'object',
    properties: { size, sizes: { type: 'array', items: size }, inner: { properties: { size } } },
  }
  expect(withGivenValues(schema, { size: 'small', inner: {} })).toEqual(schema)
  const huge = { enum: ['small', 'huge'], 'x-given': ['huge'] }
  expect(withGivenValues(schema, { size: 'huge', sizes: ['small', 'huge'], inner: { size: 'huge' } })).toEqual({
    type: 'object',
    properties: { size: huge, sizes: { type: 'array', items: huge }, inner: { properties: { size: huge } } },
  })
  expect(withGivenValues(schema, { size: { a: 1 } })).toMatchObject({
    properties: { size: { enum: ['small', { a: 1 }] } },
  })
})

test.each(['__proto__', 'constructor', 'toString'])('a field called %s has its own problem and value', (name) => {
  const before = Object.getOwnPropertyNames(Object.prototype)
  const problem = { path: `a.${name}`, rule: 'required', expected: true }
  const errors = problemsByField([problem, { ...problem, path: name }])
  expect(Object.keys(errors).sort()).toEqual([name, 'a'].sort())
  expect(Object.getOwnPropertyDescriptor(errors, name)?.value).toEqual({ __errors: [`${name} is required.`] })
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before)
  expect([({} as { __errors?: unknown }).__errors, Object.hasOwn(Object, '__errors')]).toEqual([undefined, false])
  expect(openProblems([problem], {}, { a: {} })).toEqual([problem])
  const schema = { properties: Object.fromEntries([[name, { enum: ['x'] }]]) }
  expect(withGivenValues(schema, {})).toEqual(schema)
})
