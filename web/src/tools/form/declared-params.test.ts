import { expect, test } from 'vitest'
import { declaredParams } from './declared-params.ts'

test('keeps the parameters that the schema names', () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  expect(declaredParams(schema, { city: 'Paris', nights: 1 })).toEqual({ city: 'Paris' })
  expect(declaredParams({ type: 'object' }, { city: 'Paris', toString: 1 })).toEqual({})
})
