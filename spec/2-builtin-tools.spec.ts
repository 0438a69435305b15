import { describe, expect, test } from 'vitest'
import { callsBeside, configured, withTools } from './fixtures/tool-manager.ts'

const builtin = (name: string, handler = name) => ({
  name,
  description: `The builtin ${handler}`,
  parameters: { type: 'object' },
  implementation: { type: 'builtin', handler },
})

/** Expressions that no machine finishes, or that no memory holds. */
const ENDLESS = ['99999999!', 'ones(100000, 100000)', 'combinations(100000000, 50000000)']

const calculator = async () => {
  const { execute } = await configured([builtin('calculate', 'math_eval')])
  return (expression: string, context = {}) => execute('calculate', { expression }, context)
}

describe('Builtin tools', () => {
  test('[2.4-1] calls the registered handler', async () => {
    const { execute } = await withTools({ shout: { run: ({ text }) => `${text}!`, type: 'builtin' } })
    expect(await execute('shout', { text: 'hey' })).toMatchObject({ result: 'hey!' })
  })

  test('[2.4-2] evaluates an expression with mathjs', async () => {
    const calculate = await calculator()
    expect(await calculate('2+2')).toMatchObject({ result: { result: 4 } })
    expect(await calculate('sqrt(16) + 10%')).toMatchObject({ success: true })
    expect(await calculate('process.exit(1)')).toMatchObject({ success: false })
    expect(await calculate('(() => 1)()')).toMatchObject({ success: false })
  })

  test('[2.4-3] says that the evaluation failed for a bad expression', async () => {
    const calculate = await calculator()
    expect(await calculate('2+')).toMatchObject({
      error: expect.stringMatching(/^Math evaluation failed: ./),
      error_code: 'EXECUTION_ERROR',
    })
  })

  test('[2.4-4] stops an expression that runs forever or uses all memory, and stays responsive', async () => {
    const { execute } = await configured([builtin('calculate', 'math_eval'), builtin('echo')])
    for (const expression of ENDLESS) {
      const endless = execute('calculate', { expression }, { timeoutMs: 1_000 })
      expect(await callsBeside(endless, () => execute('echo'))).toBeGreaterThan(0)
      expect(await endless).toMatchObject({ success: false })
    }
    expect(await execute('calculate', { expression: '1+1' })).toMatchObject({ result: { result: 2 } })
  })

  test('[2.4-5] keeps the expressions of callers apart', async () => {
    const calculate = await calculator()
    for (const expression of [
      'x = 5',
      'config({number: "BigNumber"})',
      'f(a) = a',
      'import({pi: 3}, {override: true})',
    ])
      await calculate(expression)
    expect(await calculate('x')).toMatchObject({ success: false })
    expect(await calculate('f(1)')).toMatchObject({ success: false })
    expect(await calculate('1/3')).toMatchObject({ result: { result: 1 / 3 } })
    expect(await calculate('pi')).toMatchObject({ result: { result: Math.PI } })
  })

  test('[2.4-6] returns the mathjs text of a result that JSON cannot hold', async () => {
    const calculate = await calculator()
    expect(await calculate('sqrt(-4)')).toMatchObject({ result: { result: '2i' } })
    expect(await calculate('3 m')).toMatchObject({ result: { result: '3 m' } })
    expect(await calculate('sqrt')).toMatchObject({ result: { result: 'function' } })
    expect(await calculate('ones(30, 30)')).toMatchObject({ result: { result: expect.stringMatching(/^\[\[1, 1/) } })
  })

  test('[2.4-7] refuses Infinity and NaN', async () => {
    const calculate = await calculator()
    for (const expression of ['1/0', '-1/0', '0/0'])
      expect(await calculate(expression)).toMatchObject({
        error: 'Math evaluation failed: the result is not a finite number',
      })
  })

  test('[2.4-8] echoes its parameters', async () => {
    const { execute } = await configured([builtin('echo')])
    expect(await execute('echo', { a: [1, 'b'] })).toMatchObject({ result: { echo: { a: [1, 'b'] } } })
  })

  test('[2.4-9] gives, compares and formats times in time zones', async () => {
    const { execute } = await configured([builtin('datetime')])
    const before = Date.now()
    const now = await execute('datetime', { operation: 'now', timezone: 'Asia/Tokyo' })
    expect(now).toMatchObject({ result: { timezone: 'Asia/Tokyo', utc_offset: '+09:00' } })
    const { unix_ms } = (now as { result: { unix_ms: number } }).result
    expect(unix_ms).toBeGreaterThanOrEqual(before)
    expect(unix_ms).toBeLessThanOrEqual(Date.now())
    // The night in which the clocks of Zurich go forward has an hour less.
    const night = { from: '2026-03-28T12:00', to: '2026-03-29T12:00', unit: 'hours', timezone: 'Europe/Zurich' }
    expect(await execute('datetime', { operation: 'diff', ...night })).toMatchObject({ result: { value: 23 } })
    expect(
      await execute('datetime', {
        operation: 'format',
        date: '2026-01-31T23:30:00Z',
        format: 'dd.MM.yyyy HH:mm',
        timezone: 'Europe/Zurich',
      }),
    ).toMatchObject({ result: { formatted: '01.02.2026 00:30' } })
  })

  test('[2.4-10] works on text', async () => {
    const { execute } = await configured([builtin('string')])
    const upper = await execute('string', { operation: 'upper', text: 'straße' })
    expect(upper).toMatchObject({ result: { result: 'STRASSE' } })
    const replaced = await execute('string', { operation: 'replace', text: 'a.b', search: '.', replacement: '$&' })
    expect(replaced).toMatchObject({ result: { result: 'a$&b' } })
    expect(await execute('string', { operation: 'nonsense', text: 'a' })).toMatchObject({ success: false })
  })
})
