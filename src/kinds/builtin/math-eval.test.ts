import { afterAll, describe, expect, it } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { hostile, never, task } from '../../isolation/fixtures/task.ts'
import { ProcessPool } from '../../isolation/process-pool.ts'
import { mathEval } from './math-eval.ts'
import { mathEvalHandler } from './shipped.ts'

const result = (expression: string) => mathEval({ expression }).result
const failure = (expression: string) => {
  try {
    return expect.fail(`gave ${JSON.stringify(mathEval({ expression }))}`)
  } catch (error) {
    return (error as Error).message
  }
}

describe('a calculation', () => {
  it.each([
    ['2+2', 4],
    ['0.15*45', 6.75],
    ['15% * 45', 6.75],
    ['45 + 10%', 49.5],
    ['17 % 5', 2],
    ['2^10', 1024],
    ['sqrt(2)', Math.SQRT2],
    ['5!', 120],
    ['cos(pi)', -1],
    ['sin(30 deg)', 0.49999999999999994],
    ['1 / (1 / 0)', 0],
    ['combinations(5, 2)', 10],
    ['mean([1, 2, 3, 4])', 2.5],
    ['max(3, 1, 2)', 3],
    ['det([1, 2; 3, 4])', -2],
    ['1 < 2 ? 10 : 20', 10],
    ['0x1F + 1', 32],
    ['sum(1:100)', 5050],
    ['sum(0:0.5:2)', 5],
    ['a = 5; a * 2', 10],
    ['1; 2', 2],
    ['a = 5', 5],
    ['a = 5;', 5],
    ['a = 2\nb = a^3;\nb + 0 * a;', 8],
    ['__proto__ = 1; __proto__ + 1', 2],
    ['e = 3; e + 1', 4],
    ['number(fraction(1, 4))', 0.25],
    [`1${'+1'.repeat(400)}`, 401],
  ])('%s is %d', (expression, expected) => {
    expect(mathEval({ expression })).toEqual({ result: expected })
  })

  it.each([
    ['1 < 2 < 3', true],
    ['true and not true', false],
    ['"text"', 'text'],
    ['null', null],
    ['1:4', [1, 2, 3, 4]],
    [
      '[1, 2; 3, 4] * 2',
      [
        [2, 4],
        [6, 8],
      ],
    ],
    ['sum([1, 2; 3, 4], 1)', [4, 6]],
    ['identity(10)', Array.from({ length: 10 }, (_, row) => Array.from({ length: 10 }, (_, at) => Number(row === at)))],
  ])('%s becomes JSON', (expression, expected) => {
    expect(result(expression)).toEqual(expected)
  })

  it.each([
    ['sqrt(-4)', '2i'],
    ['[sqrt(-4), 1]', ['2i', 1]],
    ['5 cm + 2 inch', '10.08 cm'],
    ['100 km/h to m/s', '27.77777777777778 m / s'],
    ['20 degC to degF', '68 degF'],
    ['speedOfLight', '2.99792458e+8 m / s'],
    ['sin', 'function'],
    ['identity(11)', expect.stringMatching(/^\[\[1, 0, .*\]\]$/)],
    ['bignumber(1) / 3', '0.3333333333333333333333333333333333333333333333333333333333333333'],
    ['fraction(1, 3) + fraction(1, 6)', '1/2'],
  ])('%s, which JSON cannot hold, comes back in the words of mathjs', (expression, expected) => {
    expect(result(expression)).toEqual(expected)
  })

  it.each(['bignumber(6) / 3', 'fraction(6, 3)'])('%s becomes an exact number', (expression) => {
    expect(result(expression)).toBe(2)
  })
})

describe('an expression that fails', () => {
  it.each([
    '1/0',
    '-1/0',
    '0/0',
    '[1, 1/0]',
    '[[1], [0/0]]',
    'NaN',
    '1e400',
    '1/0 * i',
    '(1/0) cm',
    'bignumber(1)/0',
    'log(0)',
    'factorial(5000)',
  ])('%s is not finite', (expression) => {
    expect(failure(expression)).toBe('Math evaluation failed: the result is not a finite number')
  })

  it.each([
    ['2 +', 'Unexpected end of expression (char 4)'],
    ['import({})', 'function "import" is not available'],
    ['x + 1', 'unknown symbol "x"'],
    ['sin + 1', 'function "sin" is used without its arguments'],
    ['(a = 1) + a', 'an assignment inside an expression is not available'],
    ['a[1] = 2', 'an assignment to a part of a value is not available'],
    ['a.b = 2', 'an assignment to a part of a value is not available'],
    ['sin = 2', '"sin" is a function: use another name'],
    ['a = sin; a(1)', 'function "sin" is used without its arguments'],
    ['a = 1; a(1)', 'function "a" is not available'],
    ['x * 2; x = 1', 'unknown symbol "x"'],
    ['f(x) = x; f(1)', 'a function definition is not available'],
    ['f(x) = x', 'a function definition is not available'],
    ['[1, 2][1]', 'access to a part of a value is not available'],
    ['{a: 1}', 'an object is not available'],
    ['5 ?? 6', 'operator "??" is not available'],
    ['(sin)(1)', 'function "sin" is used without its arguments'],
    [' ', 'the expression is empty'],
    ['1'.repeat(1001), 'the expression has 1001 characters; at most 1000 are allowed'],
  ])('%s explains the error', (expression, reason) => {
    expect(failure(expression).replace('Math evaluation failed: ', '')).toEqual(reason)
  })

  it.each([{}, { expression: 5 }])('names the parameter that is missing or no text (%j)', (params) => {
    expect(() => mathEval(params)).toThrow(/expression/)
  })
})

describe('in a process of its own', () => {
  const pool = new ProcessPool({ memoryMb: 64 })
  const evaluate = (expression: string) => pool.run({ ...task('', { expression }), ...mathEvalHandler }, never())
  afterAll(() => pool.close())

  it('gives the same result and the same error', async () => {
    expect(await evaluate('2+2')).toEqual({ result: 4 })
    await expect(evaluate('nonsense(')).rejects.toThrow(/^Math evaluation failed: /)
  })

  it('is not disturbed by another that never ends and one that takes all memory', async () => {
    const endless = pool.run(task('loop', {}, { tenant: 'a' }), AbortSignal.timeout(200))
    await expect(endless).rejects.toThrow()
    const greedy = pool.run(hostile('allocate', {}, { tenant: 'b', log: silentLog }), never())
    await expect(greedy).rejects.toThrow(/ran out of memory/)
    expect(await evaluate('2+2')).toEqual({ result: 4 })
  })
})
