import { expect, test } from 'vitest'
import { questionPieces } from './search.ts'

test('a question of usual length is one piece, as it is', () => {
  const question = '  How long may a call take?\n\nAnd who says so? '
  expect(questionPieces(question)).toEqual([question])
})

test('a long one is cut at its paragraphs and sentences, and nothing of it is lost', () => {
  const sentence = (index: number) => `This is what I want to know about number ${index}, and it takes me many words.`
  const question = Array.from({ length: 20 }, (_, index) => sentence(index)).join('\n\n')
  const pieces = questionPieces(question)
  expect(pieces.length).toBeGreaterThan(4)
  for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(300)
  expect(pieces.join('\n\n')).toBe(question)
})

test('one that never ends costs no more than a long one', () => {
  expect(questionPieces('What about this? '.repeat(5_000)).length).toBe(32)
  expect(questionPieces('x'.repeat(50_000)).length).toBe(32)
})
