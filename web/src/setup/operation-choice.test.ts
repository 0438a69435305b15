import { expect, test } from 'vitest'
import { chosenNames, type Operation, operationIndex, toggled, withoutShown, withShown } from './operation-choice.ts'

const operation = (name: string, more: Partial<Operation> = {}): Operation => ({
  ...{ name, method: 'GET', path: `/${name}`, summary: '', effect: 'read', deprecated: false },
  ...more,
})

const ALL = [
  operation('listPets', { path: '/pets', summary: 'All pets' }),
  operation('addPet', { method: 'POST', effect: 'write' }),
  operation('oldPets', { deprecated: true }),
  operation('photo', { problem: 'its body is an image' }),
]

test('select all reads leaves out writes, deprecated operations and those that cannot be tools', () => {
  expect(chosenNames(ALL, withShown(new Set(), ALL, true))).toEqual(['listPets'])
  expect(chosenNames(ALL, withShown(new Set(), ALL, false))).toEqual(['listPets', 'addPet'])
})

test('selects and clears only what the filter shows', () => {
  const shown = operationIndex(ALL).find('add')
  const chosen = withShown(new Set(['listPets']), shown, false)
  expect(chosenNames(ALL, chosen)).toEqual(['listPets', 'addPet'])
  expect(chosenNames(ALL, withoutShown(chosen, shown))).toEqual(['listPets'])
})

test('finds operations by method, path and summary', () => {
  expect(operationIndex(ALL).find('post')[0]?.name).toBe('addPet')
  expect(operationIndex(ALL).find('all pets')[0]?.name).toBe('listPets')
})

test('a deprecated operation can be chosen by hand, and again left out', () => {
  const chosen = toggled(new Set(), 'oldPets')
  expect(chosenNames(ALL, chosen)).toEqual(['oldPets'])
  expect(toggled(chosen, 'oldPets').size).toBe(0)
})
