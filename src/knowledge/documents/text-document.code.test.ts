import { expect, test } from 'vitest'
import { codeBlocks } from './text-document.ts'

const parts = (text: string) => codeBlocks(text).map(({ start, end, path }) => [path.join(), text.slice(start, end)])

test('a source file is taken apart at its left edge, remarks with what they are about', () => {
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

test('a bracket that closes after an empty line begins nothing', () => {
  expect(parts('const a = {\n  b: 1,\n\n}\n\nif x\n  y\n\nend\n')).toEqual([
    ['const a', 'const a = {\n  b: 1,\n\n}'],
    ['if x', 'if x\n  y\n\nend'],
  ])
})

test('a file without anything at its left edge is one part', () => {
  expect(parts('  a\n\n  b\n')).toEqual([['', '  a\n\n  b']])
  expect(parts('\n \n')).toEqual([])
})
