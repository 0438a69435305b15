import { describe, expect, test } from 'vitest'
import type { ToolResult } from '../core/tool-result.ts'
import { CallGuard } from './call-guard.ts'

const failed = (error: string): ToolResult => ({
  success: false,
  error,
  error_code: 'EXECUTION_ERROR',
  tool_name: 'tool',
  execution_time_ms: 1,
})

/** Judges one call per turn: `.` runs, `x` is refused, `!` ends the run. */
function verdicts(...calls: readonly (readonly [string, unknown])[]): string {
  const guard = new CallGuard()
  return calls
    .map(([tool, params], turn) => {
      const refusal = guard.judge(tool, params, turn + 1)
      return refusal === undefined ? '.' : refusal.ends ? '!' : 'x'
    })
    .join('')
}

const a = ['a', { n: 1 }] as const
const b = ['b', { n: 1 }] as const
const c = ['c', { n: 1 }] as const

describe('CallGuard', () => {
  test.each([
    ['the same call', [a, a, a, a], '..x!'],
    ['the same call with others in between', [a, b, a, c, a, ['d', {}], a], '....x.!'],
    ['the same parameters for another tool', [a, a, b, b], '....'],
    ['other parameters', [a, a, ['a', { n: 2 }], ['a', { n: 2 }]], '....'],
    [
      'the same parameters in another order',
      [
        ['a', { x: 1, y: 2 }],
        ['a', { y: 2, x: 1 }],
        ['a', { x: 1, y: 2 }],
      ],
      '..x',
    ],
    ['two alternating calls', [a, b, a, b, a, b], '....x!'],
    ['two alternating calls, with another after the warning', [a, b, a, b, a, c, c], '....x..'],
    [
      'texts that were no JSON',
      [
        ['a', '{'],
        ['a', '{'],
        ['a', '{'],
      ],
      '..x',
    ],
  ] as [string, (readonly [string, unknown])[], string][])('%s', (_, calls, expected) => {
    expect(verdicts(...calls)).toBe(expected)
  })

  test('refuses alternating calls within one turn without ending the run', () => {
    const guard = new CallGuard()
    for (let round = 0; round < 2; round++) for (const [tool, params] of [a, b]) guard.judge(tool, params, 1)
    expect(guard.judge(...a, 1)).toMatchObject({ ends: false })
    expect(guard.judge(...b, 1)).toMatchObject({ ends: false })
  })

  test('refuses a tool that fails with the same error three times in a row', () => {
    const guard = new CallGuard()
    for (let n = 0; n < 3; n++) {
      expect(guard.judge('tool', { n }, n)).toBeUndefined()
      guard.learn('tool', failed('down'))
    }
    expect(guard.judge('other', {}, 4)).toBeUndefined()
    expect(guard.judge('tool', { n: 4 }, 5)).toMatchObject({
      ends: false,
      message: expect.stringContaining('same error'),
    })
    expect(guard.judge('tool', { n: 5 }, 6)).toMatchObject({ ends: true })
  })
})
