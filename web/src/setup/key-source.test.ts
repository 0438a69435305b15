import { expect, test } from 'vitest'
import { keyChange, sourceFor, sourceProblem } from './key-source.ts'

const KNOWN = { secrets: { names: ['TAKEN'] }, variables: { any: false, names: ['SHOP_TOKEN'] } }

test('the secret store is the first choice if the server has one', () => {
  expect(sourceFor('SHOP_TOKEN', true).from).toBe('secret')
  expect(sourceFor('SHOP_TOKEN', false).from).toBe('variable')
})

test('rejects names of stored secrets and variables that the server does not allow', () => {
  const secret = sourceFor('SHOP_TOKEN', true)
  expect(sourceProblem(secret, KNOWN)).toBeUndefined()
  expect(sourceProblem({ ...secret, secret: 'TAKEN' }, KNOWN)).toMatch(/"TAKEN" exists already/)
  expect(sourceProblem({ ...secret, secret: '1' }, KNOWN)).toMatch(/letters/)
  const variable = sourceFor('OTHER', false)
  expect(sourceProblem(variable, KNOWN)).toBe('The server allows SHOP_TOKEN only.')
  expect(sourceProblem({ ...variable, variable: 'a b' }, KNOWN)).toMatch(/letters/)
  expect(sourceProblem(variable, { ...KNOWN, variables: { any: true, names: [] } })).toBeUndefined()
  expect(sourceProblem({ ...variable, from: 'none' }, KNOWN)).toBeUndefined()
})

test('a change has a stand-in instead of the value until it is given', () => {
  const source = sourceFor('KEY', true)
  expect(keyChange(source)).toEqual({ secret: { name: 'KEY', value: 'not-sent-yet' } })
  expect(keyChange(source, 'sk-1')).toEqual({ secret: { name: 'KEY', value: 'sk-1' } })
  expect(keyChange({ ...source, from: 'variable' }, 'sk-1')).toEqual({ variable: 'KEY' })
  expect(keyChange({ ...source, from: 'none' }, 'sk-1')).toBeUndefined()
})
