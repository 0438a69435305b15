import { expect, test } from 'vitest'
import { textBlocks } from './text-document.ts'

const parts = (text: string, paged?: boolean) =>
  textBlocks(text, paged).map(({ start, end, nth }) => [nth, text.slice(start, end)])

test('splits text at empty lines', () => {
  expect(parts('  One\nline.  \n\n \t\n# Two\n')).toEqual([
    [0, 'One\nline.'],
    [0, '# Two'],
  ])
})

test('splits pages at form feeds', () => {
  expect(parts('a\n\nb\fc\f\fd')).toEqual([
    [1, 'a'],
    [1, 'b'],
    [2, 'c'],
    [4, 'd'],
  ])
  expect(parts('a', true)).toEqual([[1, 'a']])
})
