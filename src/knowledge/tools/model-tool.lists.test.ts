import { expect, test } from 'vitest'
import { listed, propertyOf } from './model-tool.ts'

test.each([
  [
    ['Ada', ' Bob ', 'ada', ''],
    ['Ada', 'Bob'],
  ],
  [
    [{ name: 'Ada' }, { text: 'Bob' }, { age: 5 }, null, [], 7],
    ['Ada', 'Bob', '7'],
  ],
  ['Ada, Bob; Eve', ['Ada', 'Bob', 'Eve']],
  [null, []],
  [5, undefined],
  [{ 0: 'Ada' }, undefined],
])('reads list %# as texts', (value, texts) => {
  expect(listed(value)).toEqual(texts)
})

test('finds own properties in any case', () => {
  expect(propertyOf({ 'Intent ': 1 }, 'intent')).toBe(1)
  expect(propertyOf({ INTENT: 1, intent: 2 }, 'intent')).toBe(2)
  expect(propertyOf({}, 'constructor')).toBeUndefined()
})
