import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../testing/stand-ins.ts'
import type { Trial } from '../../../validation/running/trial.ts'
import type { Verdict } from '../../../validation/suites/suite.ts'
import type { Terminal } from '../../common/terminal.ts'
import { TrialProgress } from './validate-progress.ts'

const PASSED: Verdict = { passed: true }
const LATE: Verdict = { passed: false, kind: 'not_answered', message: 'Busy.' }

function progress(isTTY: boolean, of: number, columns = 80) {
  const stream = Object.assign(new PassThrough().setEncoding('utf8'), { isTTY, columns })
  const notes: string[] = []
  const clock = new ManualClock()
  const terminal = { note: (text: string) => void notes.push(text) } as unknown as Terminal
  const shown = new TrialProgress(terminal, { of, clock, stream: stream as unknown as NodeJS.WriteStream })
  const add = (verdict: Verdict, ms: number) => {
    clock.advance(ms)
    shown.add({ verdict } as Trial)
  }
  return { shown, notes, add, drawn: () => String(stream.read() ?? '') }
}

describe('the progress of trials', () => {
  test('redraws a bar with the remaining time on a terminal', () => {
    const { add, drawn, shown } = progress(true, 4)
    add(PASSED, 2_000)
    expect(drawn()).toBe('\r██████░░░░░░░░░░░░░░░░░░ 1 of 4 trials, 1 passed, 6 s left\u001b[K')
    add(LATE, 2_000)
    expect(drawn()).toBe('\r████████████░░░░░░░░░░░░ 2 of 4 trials, 1 passed, 1 not answered, 4 s left\u001b[K')
    shown.clear()
    expect(drawn()).toBe('\r\u001b[K')
  })

  test('limits the redraws, and the width to that of the terminal', () => {
    const { add, drawn } = progress(true, 1_000, 30)
    for (let n = 0; n < 50; n++) add(PASSED, 1)
    const text = drawn()
    expect(text.split('\r')).toHaveLength(2)
    expect(text.replace('\u001b[K', '').trim().length).toBeLessThan(30)
  })

  test('elsewhere writes a line for every tenth, without control characters', () => {
    const { add, drawn, notes } = progress(false, 100)
    for (let n = 0; n < 100; n++) add(PASSED, 60_000)
    expect(drawn()).toBe('')
    expect(notes).toHaveLength(9)
    expect(notes[0]).toBe('… 10 of 100 trials, 10 passed, 90 min left')
  })

  test('writes nothing for a short run', () => {
    const { add, notes } = progress(false, 100)
    for (let n = 0; n < 100; n++) add(PASSED, 1)
    expect(notes).toEqual([])
  })

  test('clears the bar for a note', () => {
    const { add, drawn, notes, shown } = progress(true, 2)
    add(PASSED, 1)
    drawn()
    shown.note('It stopped.')
    expect([drawn(), notes]).toEqual(['\r\u001b[K', ['It stopped.']])
  })
})
