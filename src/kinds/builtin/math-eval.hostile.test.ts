import { afterAll, beforeAll, expect, it } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { ProcessPool } from '../../isolation/process-pool.ts'
import { mathEvalHandler } from './math-eval-handler.ts'

const REFUSED = /^Math evaluation failed: ./

/** Expressions that try to get out, to change something for others, or to keep the process busy. */
const HOSTILE: readonly string[] = [
  // Out of the language, by way of prototypes and constructors.
  'constructor',
  '__proto__',
  'prototype',
  'toString',
  'hasOwnProperty("a")',
  'constructor("return process")()',
  '"a".constructor',
  '"a".constructor.constructor("return process")()',
  'sin.constructor("return process")()',
  'sqrt.constructor',
  '[].constructor',
  '[1]["constructor"]',
  '{}.constructor',
  '{"__proto__": {"x": 1}}',
  '{a: 1}["__proto__"]',
  '(1)["constructor"]["constructor"]("return this")()',
  'valueOf()',
  '__defineGetter__("a", sin)',
  'f(x) = x.constructor; f(sin)',
  'cos.transform.call(0)',
  'expression.docs',
  'expression.transform',
  '(5 cm).constructor',
  'unit("5 cm").units[1].unit.base',
  'i.re = 5',
  'process.exit(1)',
  'require("fs")',
  'globalThis',
  'this',
  'eval("1")',
  'Function("return 1")()',
  'import("node:fs")',
  '`1`',
  '$1',
  'FunctionNode("sin", [])',
  'OperatorNode("+", "add")',
  'parse("1").compile()',
  'map([1], f(x) = x)',
  'map([1, 2], sin)',
  'filter([1], isPositive)',
  'forEach([1], sin)',
  'apply([1], 1, sum)',
  'sort([2, 1], subtract)',
  'chain(2).done()',
  'typed("f", {"number": sin})',
  'reviver("a", {"mathjs": "Unit"})',
  'replacer()',
  'factory("x", [], sin)',
  'create(all)',
  'print("$constructor", {})',
  'format(1, sin)',
  // For others to find: configuration, names, units, state.
  'config({"number": "BigNumber"})',
  'config({"relTol": 1})',
  'import({"pi": 3}, {"override": true})',
  'import({"sqrt": 3})',
  'createUnit("foo")',
  'createUnit("m", "5 cm")',
  'splitUnit(1 m, [cm])',
  'createUnit({"meter": {"definition": "1 cm", "override": true}})',
  'pi = 3',
  'sqrt = sin',
  'sqrt(x) = 3',
  'add(a, b) = 0',
  'e = 1; e',
  'randomSeed(1)',
  'on("config", sin)',
  'emit("config")',
  'Unit.deleteUnit("cm")',
  'deleteUnit("cm")',
  'speedOfLight.value = 1',
  'evaluate("pi = 3")',
  'compile("1").evaluate()',
  'parser().set("a", 1)',
  'help("sin")',
  'simplify("x + x")',
  'derivative("x^2", "x")',
  'rationalize("x/x")',
  'resolve("x")',
  'version',
  // For ever.
  'f(x) = f(x); f(1)',
  'f(n) = n < 2 ? 1 : f(n - 1) + f(n - 2); f(60)',
  'sum(1:1e9)',
  '1:1e12',
  'range(0, 1e10)',
  'factorial(1e15)',
  'factorial(bignumber(100000))',
  '170!!!!!!!!!',
  'bignumber(999)!',
  'combinations(1e15, 5e14)',
  'combinations(bignumber(1e15), bignumber(5e14))',
  'permutations(1e15, 1e14)',
  'multinomial([1e9, 1e9])',
  'stirlingS2(10000, 5000)',
  'bellNumbers(5000)',
  'catalan(bignumber(1e6))',
  'bernoulli(100000)',
  'composition(1e9, 5e8)',
  'isPrime(9007199254740881)',
  'isPrime(bignumber("1000000000000000000000000000057"))',
  'zeta(0.5 + 1e9 i)',
  'nthRoots(1, 1e9)',
  'gamma(bignumber(1e8))',
  'eigs(ones(100, 100))',
  'solveODE(sin, [0, 1e9], 1)',
  'inv(identity(30) * 3 + ones(30, 30))^1000000000',
  '(identity(30) + ones(30, 30))^9007199254740991',
  'det(det(det(ones(30, 30))))',
  `${'inv('.repeat(40)}identity(30)${')'.repeat(40)}`,
  // All memory.
  'zeros(1e5, 1e5)',
  'ones(1e9)',
  'identity(1e5)',
  'zeros([1000, 1000, 1000])',
  'zeros(30, 30, 30, 30, 30, 30)',
  'zeros(bignumber("1e9"))',
  'ones("1000000000")',
  'zeros(1/0)',
  'resize([1], [1e9])',
  'kron(ones(30, 30), ones(30, 30))',
  'setPowerset([1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28])',
  'setCartesian(1:1e5, 1:1e5)',
  'diag([1], 1e9)',
  'random([1e5, 1e5])',
  'randomInt([1e4, 1e4], 1, 2)',
  'concat(ones(30, 30), ones(30, 30))',
  'matrixFromFunction([1e5, 1e5], sin)',
  'hex(1, 1e9)',
  'bin(5, 1000000000)',
  'bigint(9)^bigint(999999999)',
  'bigint("9")',
  'fraction(3)^999999999',
  'fraction(3)^fraction(999999999)',
  '(((fraction(3)^999)^999)^999)^999',
  'unit(fraction(3), "cm")^999999999',
  'cube(cube(cube(cube(cube(cube(cube(cube(cube(cube(cube(cube(fraction(7)))))))))))))',
  'bignumber(10)^bignumber(9e15)',
  'bignumber("1e9000000000") + 1',
  'bignumber("1e9000000000") mod 3',
  'floor(bignumber("1e9000000000"))',
  'sin(bignumber("1e399"))',
  'tan(bignumber("1e399"))',
  'exp(bignumber("1e399"))',
  'cosh(bignumber("1e399"))',
  'sinh(bignumber(-900))',
  'tanh(bignumber("1e12"))',
  'coth([bignumber(-100000)])',
  'norm(identity(30) * (1e300 + i))',
  'norm([[1, 2], [3, 4]], 1e9)',
  'atanh(bignumber("0.99999999999999999999999999999999999999999"))',
  'bignumber(2)^bignumber("0.000000000000000000000000000000000000001")',
  'log(bignumber("1e399"), bignumber("1.00000000000000000000000000001"))',
  'nthRoot(bignumber(2), bignumber("1e300"))',
  'gcd(bignumber("1e399"), bignumber("7"))',
  'lcm(bignumber("1e399") + 1, bignumber("1e398") + 3)',
  'round(bignumber(1) / 3, 1000000000)',
  'bignumber(1) << bignumber(1000000000)',
  '1 << 1000000000',
  'string(ones(30, 30))',
  'norm(ones(30, 30) + identity(30), 2)',
  '"x" * 1e9',
  // The parser itself.
  `${'('.repeat(499)}1${')'.repeat(499)}`,
  `${'['.repeat(500)}${']'.repeat(500)}`,
  '-'.repeat(999),
  `${'-'.repeat(999)}1`,
  `1${'!'.repeat(999)}`,
  `${'1^'.repeat(499)}1`,
  `${'sin('.repeat(200)}1${')'.repeat(200)}`,
  `${'1?'.repeat(300)}1${':1'.repeat(300)}`,
  'x'.repeat(1001),
  '9'.repeat(1000),
  `1e${'9'.repeat(900)}`,
  '1\u0000+1',
  '1\n1\n1',
  '# only a comment',
  '\u202e1+1',
  '１+１',
]

const pool = new ProcessPool()
const evaluate = (expression: unknown) => {
  const log = silentLog
  const task = {
    ...mathEvalHandler,
    params: { expression },
    tenant: 't',
    flags: {},
    report: () => {},
    log,
    started: false,
    tool: 'calculate',
  }
  return pool.run(task, AbortSignal.timeout(5000)) as Promise<{ result: unknown }>
}
const probes = ['2+2', 'sqrt(2)', 'pi', '5 cm to m', 'speedOfLight', '1/3', 'bignumber(1)/3', '[1,2]*2']
const probe = () => Promise.all(probes.map(async (expression) => (await evaluate(expression)).result))
let before: unknown[]

beforeAll(async () => {
  before = await probe()
})
afterAll(() => pool.close())

it('the table is as long as it should be', () => {
  expect(new Set(HOSTILE).size).toBe(HOSTILE.length)
  expect(HOSTILE.length).toBeGreaterThan(80)
})

it.each(HOSTILE.map((expression) => [expression.slice(0, 60), expression]))(
  '%s is refused or harmless, and changes nothing for others',
  async (_name, expression) => {
    const outcome = await evaluate(expression).then(
      ({ result }) => result,
      (error: Error) => error,
    )
    if (outcome instanceof Error) expect(outcome.message).toMatch(REFUSED)
    else expect(['number', 'string', 'boolean', 'object']).toContain(typeof outcome)
    expect(JSON.stringify(outcome).length).toBeLessThan(10_000)
    expect(await probe()).toEqual(before)
  },
)
