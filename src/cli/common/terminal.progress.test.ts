import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../testing/stand-ins.ts'
import { ProgressLine, type Terminal } from './terminal.ts'

/** A progress line on a stream that is a terminal or not, and what is written to it. */
function lineOn(isTTY: boolean) {
  const written: string[] = []
  const stream = { isTTY, columns: 50, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream
  const terminal = { note: (text: string) => written.push(`${text}\n`) } as unknown as Terminal
  const clock = new ManualClock()
  return { line: new ProgressLine(terminal, { stream, clock }), written, clock }
}

const TEXT = '50 %, 5 of 10 documents, 70 chunks'

describe('on a terminal', () => {
  test('draws a bar, and clears it for a note', () => {
    const { line, written } = lineOn(true)
    line.show(0.5, TEXT)
    line.note('Something')
    const bar = `${'█'.repeat(12)}${'░'.repeat(12)} ${TEXT}`.slice(0, 49)
    expect(written).toEqual([`\r${bar}\u001b[K`, '\r\u001b[K', 'Something\n'])
  })

  test('redraws the bar at most every 100 ms', () => {
    const { line, written, clock } = lineOn(true)
    for (let times = 0; times < 100; times++) line.show(0.5, TEXT)
    expect(written).toHaveLength(1)
    clock.advance(100)
    line.show(0.5, TEXT)
    expect(written).toHaveLength(2)
  })
})

test('elsewhere writes a line for every tenth, at most every 2 s', () => {
  const { line, written, clock } = lineOn(false)
  line.show(0.5, 'too early')
  clock.advance(3_000)
  line.show(0.5, 'half')
  line.show(0.5, 'half again')
  line.show(0.6, 'too early')
  clock.advance(3_000)
  line.show(0.6, 'more')
  line.clear()
  expect(written).toEqual(['… half\n', '… more\n'])
})
