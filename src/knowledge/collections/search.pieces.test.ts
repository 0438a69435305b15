import { expect, test } from 'vitest'
import { questionPieces } from './search.ts'

test('does not split a short query', () => {
  const question = '  How long may a call take?\n\nAnd who says so? '
  expect(questionPieces(question)).toEqual([question])
})

test('splits a long query at paragraphs and sentences', () => {
  const sentence = (index: number) => `This is what I want to know about number ${index}, and it takes me many words.`
  const question = Array.from({ length: 20 }, (_, index) => sentence(index)).join('\n\n')
  const pieces = questionPieces(question)
  expect(pieces.length).toBeGreaterThan(4)
  for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(300)
  expect(pieces.join('\n\n')).toBe(question)
})

test('limits the number of pieces', () => {
  expect(questionPieces('What about this? '.repeat(5_000)).length).toBe(32)
  expect(questionPieces('x'.repeat(50_000)).length).toBe(32)
})
