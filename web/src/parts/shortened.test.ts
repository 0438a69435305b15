import { expect, test } from 'vitest'
import { jsonText, shownPart } from './shortened.ts'

const nested = (levels: number): unknown => JSON.parse('{"a":'.repeat(levels) + '1'.concat('}'.repeat(levels)))

test.each([100, 2_000, 10_000, 100_000])('shows the first levels of a value of %d levels', (levels) => {
  const { shown, isPart, text } = shownPart(nested(levels))
  expect(JSON.stringify(shown)).toContain(levels === 100 ? '{"a":1}' : '… (nested deeper)')
  expect(isPart).toBe(levels > 100)
  expect(text).toContain('{"a":{"a":')
})

test('shows small values as they are, and long ones in part', () => {
  const small = { a: [1, 'x'] }
  expect(shownPart(small)).toEqual({ shown: small, isPart: false, text: '{"a":[1,"x"]}' })
  const long = { a: 'x'.repeat(30_000) }
  expect(shownPart(long)).toMatchObject({ isPart: true, text: JSON.stringify(long) })
})

test('writes a text as it is, and any other value as JSON', () => {
  expect([jsonText('a"b'), jsonText({ a: 1 }), jsonText(undefined)]).toEqual(['a"b', '{"a":1}', 'nothing'])
  expect(jsonText(nested(100_000))).toContain('{"a":{"a":')
})
