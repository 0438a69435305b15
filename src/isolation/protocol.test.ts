import { describe, expect, it } from 'vitest'
import { LineReader } from './protocol.ts'

function read(limit: number, chunks: string[]) {
  const lines: string[] = []
  let refused = 0
  const reader = new LineReader(
    limit,
    (line) => lines.push(line),
    () => refused++,
  )
  for (const chunk of chunks) reader.push(Buffer.from(chunk))
  return { lines, refused }
}

describe('LineReader', () => {
  it.each([
    [['a\nb\n'], ['a', 'b']],
    [
      ['a', 'b', '\n', 'c\nd'],
      ['ab', 'c'],
    ],
    [['\n\n'], ['', '']],
    [[''], []],
  ])('cuts %j into %j', (chunks, lines) => {
    expect(read(10, chunks)).toEqual({ lines, refused: 0 })
  })

  it('joins a character that is split over two chunks', () => {
    const [first, second] = [Buffer.from('é\n').subarray(0, 1), Buffer.from('é\n').subarray(1)]
    const lines: string[] = []
    const reader = new LineReader(
      10,
      (line) => lines.push(line),
      () => {},
    )
    reader.push(first)
    reader.push(second)
    expect(lines).toEqual(['é'])
  })

  it.each([[['12345\n123456\n7\n']], [['12345\n', '123', '456', '7\n']], [['12345\n', '1234567']]])(
    'refuses a line over the limit once, and hears nothing after it (%j)',
    (chunks) => {
      expect(read(5, chunks)).toEqual({ lines: ['12345'], refused: 1 })
    },
  )

  it('ignores the rest of a chunk after it was stopped', () => {
    const lines: string[] = []
    const reader: LineReader = new LineReader(
      10,
      (line) => {
        lines.push(line)
        reader.stop()
      },
      () => {},
    )
    reader.push(Buffer.from('a\nb\n'))
    expect(lines).toEqual(['a'])
  })
})
