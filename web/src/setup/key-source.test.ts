import { expect, test } from 'vitest'
import { keyChange, sourceFor, sourceProblem, variablesFor } from './key-source.ts'

const STORE = { enabled: true, names: ['TAKEN'] }
const NO_STORE = { enabled: false, names: [] }
const KNOWN = { secrets: STORE, variables: { any: false, names: ['SHOP_TOKEN'] } }

test('the secret store is the first choice if the server has one', () => {
  expect(sourceFor('SHOP_TOKEN', STORE).from).toBe('secret')
  expect(sourceFor('SHOP_TOKEN', NO_STORE).from).toBe('variable')
})

test('a secret gets a name that is free', () => {
  expect(sourceFor('TAKEN', STORE)).toMatchObject({ secret: 'TAKEN_2', variable: 'TAKEN' })
  expect(sourceFor('TAKEN', { enabled: true, names: ['TAKEN', 'TAKEN_2'] }).secret).toBe('TAKEN_3')
})

test('rejects names of stored secrets and variables that the server does not allow', () => {
  const secret = sourceFor('SHOP_TOKEN', STORE)
  expect(sourceProblem(secret, KNOWN, '')).toBeUndefined()
  expect(sourceProblem({ ...secret, secret: 'TAKEN' }, KNOWN, '')).toMatch(/"TAKEN" exists already/)
  expect(sourceProblem({ ...secret, secret: '1' }, KNOWN, '')).toMatch(/letters/)
  const variable = sourceFor('OTHER', NO_STORE)
  expect(sourceProblem(variable, KNOWN, '')).toBe('The server allows SHOP_TOKEN only.')
  expect(sourceProblem({ ...variable, variable: 'a b' }, KNOWN, '')).toMatch(/letters/)
  expect(sourceProblem(variable, { ...KNOWN, variables: { any: true, names: [] } }, '')).toBeUndefined()
  expect(sourceProblem({ ...variable, from: 'none' }, KNOWN, '')).toBeUndefined()
})

test('the usual variable of a service is always allowed', () => {
  expect(sourceProblem(sourceFor('OTHER', NO_STORE), KNOWN, 'OTHER')).toBeUndefined()
  expect(variablesFor(KNOWN, 'SHOP_TOKEN')).toEqual(['SHOP_TOKEN'])
})

test('a change has a stand-in instead of the value until it is given', () => {
  const source = sourceFor('KEY', STORE)
  expect(keyChange(source)).toEqual({ secret: { name: 'KEY', value: 'not-sent-yet' } })
  expect(keyChange(source, 'sk-1')).toEqual({ secret: { name: 'KEY', value: 'sk-1' } })
  expect(keyChange({ ...source, from: 'variable' }, 'sk-1')).toEqual({ variable: 'KEY' })
  expect(keyChange({ ...source, from: 'none' }, 'sk-1')).toBeUndefined()
})
