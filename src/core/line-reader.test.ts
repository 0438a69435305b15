import { describe, expect, it } from 'vitest'
import { LineReader } from './line-reader.ts'

function read(limit: number, chunks: readonly string[]): string[] {
  const seen: string[] = []
  const reader = new LineReader(limit, {
    line: (bytes) => seen.push(`line ${bytes}`),
    excess: (bytes) => seen.push(`excess ${bytes}`),
    excessEnd: () => seen.push('end'),
  })
  for (const chunk of chunks) reader.push(Buffer.from(chunk))
  reader.end()
  return seen
}

describe('LineReader', () => {
  it.each([
    [['a\nb\n'], ['line a', 'line b']],
    [
      ['a', 'b', '\n', 'c\nd'],
      ['line ab', 'line c', 'line d'],
    ],
    [['\n\n'], ['line ', 'line ']],
    [['12345\n'], ['line 12345']],
    [['123456\n7\n'], ['excess 123456', 'end', 'line 7']],
    [
      ['123', '456', '78\n9', '\n'],
      ['excess 123', 'excess 456', 'excess 78', 'end', 'line 9'],
    ],
    [['123456'], ['excess 123456', 'end']],
    [[], []],
  ])('cuts %j into %j', (chunks, seen) => {
    expect(read(5, chunks)).toEqual(seen)
  })

  it('joins pieces of one byte, however many', () => {
    const line = 'é'.repeat(3000)
    const chunks = [...Buffer.from(`${line}\n`)].map((byte) => Buffer.from([byte]))
    const seen: string[] = []
    const reader = new LineReader(10_000, {
      line: (bytes) => seen.push(bytes.toString()),
      excess: () => {},
      excessEnd: () => {},
    })
    for (const chunk of chunks) reader.push(chunk)
    expect(seen).toEqual([line])
  })

  it('gives the memory of what is over the bound back at once, and no other', () => {
    const reader = new LineReader(5, { line: () => {}, excess: () => {}, excessEnd: () => {} })
    const chunks = ['12345', '123456', '1\n2'].map((text) => Buffer.from(new TextEncoder().encode(text).buffer))
    for (const chunk of chunks) reader.push(chunk)
    expect(chunks.map(({ length }) => length)).toEqual([0, 0, 3])
  })
})
