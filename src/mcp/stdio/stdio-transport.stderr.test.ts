import { describe, expect, it } from 'vitest'
import { StderrTail } from './stdio-transport.ts'

function tailOf(...chunks: (string | Buffer)[]): string {
  const tail = new StderrTail()
  for (const chunk of chunks) tail.push(Buffer.from(chunk))
  return tail.text()
}

describe('StderrTail', () => {
  it('keeps the last twenty lines, without the empty ones', () => {
    const lines = Array.from({ length: 30 }, (_, n) => `line ${n}`)
    expect(tailOf(`${lines.join('\n\n')}\n`)).toBe(lines.slice(10).join('\n'))
  })

  it('keeps the last 4096 characters of a line that never ends', () => {
    const text = tailOf('a'.repeat(100_000), 'b'.repeat(4000))
    expect(text).toBe('a'.repeat(96) + 'b'.repeat(4000))
  })

  it('does not show a line that has lost its beginning beside whole ones', () => {
    expect(tailOf(`${'x'.repeat(50_000)}\nwhole\n`)).toBe('whole')
  })

  it.each([1, 2, 3])('joins what comes in pieces of %d bytes', (size) => {
    const bytes = Buffer.from('é \u001b[31mred\u001b[0m\n')
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
      bytes.subarray(n * size, (n + 1) * size),
    )
    expect(tailOf(...pieces)).toBe('é red')
  })

  it('shows no secret', () => {
    expect(tailOf('login failed, password=hunter22\n')).toBe('login failed, password=[redacted]')
  })

  it('is empty where nothing was said', () => {
    expect(tailOf()).toBe('')
  })
})
