import { describe, expect, test, vi } from 'vitest'
import type { Terminal } from '../terminal.ts'
import { ProgressLine } from './progress-line.ts'

/** A line on a stream that is a terminal or not, and what is written to it. */
function lineOn(isTTY: boolean) {
  const written: string[] = []
  const stream = { isTTY, columns: 50, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream
  const terminal = { note: (text: string) => written.push(`${text}\n`) } as unknown as Terminal
  return { line: new ProgressLine(terminal, stream), written }
}

const half = { documents: 5, of: 10, chunks: 70, share: 0.5 }

describe('on a terminal', () => {
  test('is a bar in one line, which goes for a line that stays', () => {
    const { line, written } = lineOn(true)
    line.show(half)
    line.note('Something')
    const bar = `${'█'.repeat(12)}${'░'.repeat(12)} 50 %, 5 of 10 documents, 70 chunks`.slice(0, 49)
    expect(written).toEqual([`\r${bar}\u001b[K`, '\r\u001b[K', 'Something\n'])
  })

  test('is drawn no more often than can be seen', () => {
    const { line, written } = lineOn(true)
    for (let times = 0; times < 100; times++) line.show(half)
    expect(written.length).toBeLessThan(100)
  })
})

describe('elsewhere', () => {
  test('is a line now and then, and none for work that is soon done', () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    const { line, written } = lineOn(false)
    line.show(half)
    expect(written).toEqual([])
    now.mockReturnValue(3_000)
    line.show(half)
    line.show(half)
    line.show({ ...half, share: 0.6 })
    now.mockReturnValue(6_000)
    line.show({ ...half, share: 0.6, chunks: 80 })
    line.clear()
    expect(written).toEqual(['… 50 %, 5 of 10 documents, 70 chunks\n', '… 60 %, 5 of 10 documents, 80 chunks\n'])
    now.mockRestore()
  })
})
