import { expect, test } from 'vitest'
import { codeBlocks } from './text-document.ts'

const parts = (text: string) => codeBlocks(text).map(({ start, end, path }) => [path.join(), text.slice(start, end)])

test('splits code at unindented lines, with comments above', () => {
  const text = `import os
from x import (
    y,
)

# Adds.
@cached
def add(a, b):
    total = a + b

    return total

LIMIT = 3
OTHER = 4
`
  expect(parts(text)).toEqual([
    ['', 'import os\nfrom x import (\n    y,\n)'],
    ['def add(a, b)', '# Adds.\n@cached\ndef add(a, b):\n    total = a + b\n\n    return total'],
    ['', 'LIMIT = 3\nOTHER = 4'],
  ])
})

test('does not start a block at a closing bracket', () => {
  expect(parts('const a = {\n  b: 1,\n\n}\n\nif x\n  y\n\nend\n')).toEqual([
    ['const a', 'const a = {\n  b: 1,\n\n}'],
    ['if x', 'if x\n  y\n\nend'],
  ])
})

test('does not split a file without unindented lines', () => {
  expect(parts('  a\n\n  b\n')).toEqual([['', '  a\n\n  b']])
  expect(parts('\n \n')).toEqual([])
})
