import { afterAll, beforeAll, expect, it } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { ProcessPool } from '../../isolation/process-pool.ts'
import { mathEvalHandler } from './shipped.ts'

const REFUSED = /^Math evaluation failed: ./

/** Expressions that try to get out of the language, or to change something for other callers. */
const HOSTILE: readonly string[] = [
  // Out of the language through prototypes and constructors.
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
  // Changes that others would see: configuration, names, units, state.
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

/** Expressions that keep the process busy or fill its memory. */
const ENDLESS: readonly string[] = [
  'f(n) = n < 2 ? 1 : f(n - 1) + f(n - 2); f(60)',
  'sum(1:1e9)',
  'factorial(bignumber(1e9))',
  'isPrime(bignumber("1000000000000000000000000000057"))',
  'det(ones(3000, 3000) * ones(3000, 3000))',
  'zeros(1e5, 1e5)',
  'ones(1e9)',
  'fraction(3)^999999999',
  'cosh(bignumber("1e399"))',
]

const pool = new ProcessPool()
const evaluate = (expression: unknown, signal = new AbortController().signal) => {
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
  return pool.run(task, signal) as Promise<{ result: unknown }>
}
const probes = ['2+2', 'sqrt(2)', 'pi', '5 cm to m', 'speedOfLight', '1/3', 'bignumber(1)/3', '[1,2]*2']
const probe = () => Promise.all(probes.map(async (expression) => (await evaluate(expression)).result))
let before: unknown[]

beforeAll(async () => {
  before = await probe()
})
afterAll(() => pool.close())

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

it.each(ENDLESS)('%s ends with its process or is refused, and changes nothing for others', async (expression) => {
  const outcome = await evaluate(expression, AbortSignal.timeout(300)).catch((error: Error) => error)
  expect(outcome).toMatchObject({
    message: expect.stringMatching(/^Math evaluation failed: .|ran out of memory|timeout/),
  })
  expect(await probe()).toEqual(before)
})
