/** The handler behind `math_eval`. It runs in the process pool, which bounds its time and memory. */
import { createRequire } from 'node:module'
import type {
  BigNumber,
  BlockNode,
  Complex,
  ConstantNode,
  Fraction,
  FunctionNode,
  MathJsInstance,
  MathNode,
  Matrix,
  OperatorNode,
  RelationalNode,
  SymbolNode,
  Unit,
} from 'mathjs'
import type { Params } from '../../core/tool.ts'
import { requireText } from './read-parameter.ts'

const MAX_CHARACTERS = 1000
const MAX_REASON_CHARACTERS = 300

// The one-file build loads in a sixth of the time of the package's modules, and takes half the memory.
const math: MathJsInstance = createRequire(import.meta.url)('mathjs/lib/browser/math.js')

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

const OPERATORS = words(`
  add subtract multiply divide dotMultiply dotDivide pow dotPow mod unaryMinus unaryPlus factorial ctranspose
  bitAnd bitOr bitXor bitNot leftShift rightArithShift rightLogShift
  and or xor not equal unequal smaller smallerEq larger largerEq to
`)

/** The functions that an expression may call: each computes a value from values and changes nothing else. */
const FUNCTIONS = words(`
  abs cbrt ceil cube exp expm1 fix floor gcd hypot lcm log log10 log1p log2 mod nthRoot pow round sign sqrt square
  add subtract multiply divide unaryMinus unaryPlus dotMultiply dotDivide dotPow
  acos acosh acot acoth acsc acsch asec asech asin asinh atan atan2 atanh
  cos cosh cot coth csc csch sec sech sin sinh tan tanh
  factorial gamma lgamma combinations permutations isPrime erf
  max min mean median mode sum prod std variance mad cumsum count
  matrix size transpose ctranspose det inv trace dot cross norm identity zeros ones flatten sort
  complex re im arg conj
  number bignumber fraction boolean string unit to
  and or xor not equal unequal smaller smallerEq larger largerEq compare deepEqual
  bitAnd bitOr bitXor bitNot leftShift rightArithShift rightLogShift
  isInteger isNegative isNumeric isPositive isZero isNaN typeOf
`)

const CONSTANTS = words(`
  pi PI e E tau phi i LN2 LN10 LOG2E LOG10E SQRT1_2 SQRT2
  atomicMass avogadro bohrMagneton bohrRadius boltzmann classicalElectronRadius conductanceQuantum coulomb
  coulombConstant deuteronMass efimovFactor electricConstant electronMass elementaryCharge faraday fermiCoupling
  fineStructure firstRadiation gasConstant gravitationConstant gravity hartreeEnergy inverseConductanceQuantum
  klitzing loschmidt magneticConstant magneticFluxQuantum molarMass molarMassC12 molarPlanckConstant molarVolume
  neutronMass nuclearMagneton planckCharge planckConstant planckLength planckMass planckTemperature planckTime
  protonMass quantumOfCirculation reducedPlanckConstant rydberg sackurTetrode secondRadiation speedOfLight
  stefanBoltzmann thomsonCrossSection vacuumImpedance weakMixingAngle wienDisplacement
`)

const REFUSED_SYNTAX: ReadonlyMap<string, string> = new Map([
  ['AssignmentNode', 'an assignment inside an expression'],
  ['FunctionAssignmentNode', 'a function definition'],
  ['AccessorNode', 'access to a part of a value'],
  ['IndexNode', 'an index'],
  ['ObjectNode', 'an object'],
])

/** Syntax without a name in it: only its parts need a check. */
const PLAIN_SYNTAX: ReadonlySet<string> = new Set([...['ParenthesisNode', 'ArrayNode', 'ConditionalNode', 'RangeNode']])

/** Computes `expression`: a calculation with numbers, units, complex numbers and matrices. */
export function mathEval(params: Params): { result: unknown } {
  const expression = requireText(params, 'expression', Number.POSITIVE_INFINITY)
  try {
    if (expression.length > MAX_CHARACTERS) {
      throw new Error(`the expression has ${expression.length} characters; at most ${MAX_CHARACTERS} are allowed`)
    }
    if (expression.trim() === '') throw new Error('the expression is empty')
    const tree = math.parse(expression)
    const isFunctionName = tree.type === 'SymbolNode' && FUNCTIONS.has((tree as SymbolNode).name)
    return { result: isFunctionName ? mathResult(tree.evaluate()) : evaluated(tree) }
  } catch (error) {
    throw new Error(`Math evaluation failed: ${reason(error)}`)
  }
}

/** The value of the last statement. */
function evaluated(tree: MathNode): unknown {
  const statements = tree.type === 'BlockNode' ? (tree as BlockNode).blocks : [{ node: tree }]
  // A map has no prototype that a name could reach.
  const variables = new Map<string, unknown>()
  for (const { node } of statements) {
    if (node.type !== 'AssignmentNode') check(node, variables)
    else {
      const { object, index, value } = node as unknown as Assignment
      if (index !== null) throw new Error('an assignment to a part of a value is not available')
      check(value, variables)
      if (FUNCTIONS.has(object.name)) throw new Error(`"${object.name}" is a function: use another name`)
      variables.set(object.name, undefined)
    }
  }
  const values = statements.map(({ node }) => node.evaluate(variables))
  return mathResult(values.at(-1))
}

interface Assignment {
  readonly object: SymbolNode
  /** Null if it assigns a whole value. */
  readonly index: unknown
  readonly value: MathNode
}

function reason(error: unknown): string {
  if (error instanceof RangeError && /call stack/.test(error.message)) return 'the expression is nested too deep'
  const text = error instanceof Error ? error.message : String(error)
  return text.replaceAll(/\s+/g, ' ').slice(0, MAX_REASON_CHARACTERS)
}

/**
 * Refuses everything that is not on the lists. The process is used again for other callers, so an expression must not
 * reach a function that changes mathjs, and no property that leads out of it.
 */
function check(node: MathNode, variables: ReadonlyMap<string, unknown>): void {
  switch (node.type) {
    case 'ConstantNode':
      if ((node as ConstantNode).value === undefined) throw new Error('unknown symbol "undefined"')
      return
    case 'SymbolNode':
      if (!variables.has((node as SymbolNode).name)) checkSymbol((node as SymbolNode).name)
      return
    case 'OperatorNode': {
      const { fn, op } = node as OperatorNode
      if (!OPERATORS.has(fn)) throw new Error(`operator "${op}" is not available`)
      break
    }
    case 'RelationalNode': {
      const refused = (node as RelationalNode).conditionals.find((name) => !OPERATORS.has(name))
      if (refused !== undefined) throw new Error(`operator "${refused}" is not available`)
      break
    }
    case 'FunctionNode': {
      const callee = (node as FunctionNode).fn as unknown as MathNode
      if (callee.type !== 'SymbolNode') throw new Error('a call of anything but a named function is not available')
      const { name } = callee as SymbolNode
      if (!FUNCTIONS.has(name)) throw new Error(`function "${name}" is not available`)
      for (const argument of (node as FunctionNode).args) check(argument, variables)
      return
    }
    default:
      if (PLAIN_SYNTAX.has(node.type)) break
      throw new Error(`${REFUSED_SYNTAX.get(node.type) ?? `"${node.type}"`} is not available`)
  }
  node.forEach((part) => {
    check(part, variables)
  })
}

function checkSymbol(name: string): void {
  if (CONSTANTS.has(name)) return
  if (FUNCTIONS.has(name)) throw new Error(`function "${name}" is used without its arguments`)
  if (name === 'Unit' || !math.Unit.isValuelessUnit(name)) throw new Error(`unknown symbol "${name}"`)
}

const MAX_ARRAY_ELEMENTS = 100

const notFinite = (): Error => new Error('the result is not a finite number')

/** Converts a result to JSON: numbers, booleans, texts and small matrices as they are, all else as mathjs text. */
function mathResult(value: unknown): unknown {
  switch (math.typeOf(value)) {
    case 'number':
      if (!Number.isFinite(value)) throw notFinite()
      return value
    case 'boolean':
    case 'string':
    case 'null':
      return value
    case 'BigNumber':
      return bigNumber(value as BigNumber)
    case 'Fraction':
      return fraction(value as Fraction)
    case 'Array':
      return (value as unknown[]).map((each) => mathResult(each))
    case 'DenseMatrix':
    case 'SparseMatrix':
      return matrix(value as Matrix)
    case 'Complex': {
      const { re, im } = value as Complex
      if (!Number.isFinite(re) || !Number.isFinite(im)) throw notFinite()
      return math.format(value)
    }
    case 'Unit': {
      const { value: amount } = value as Unit & { value: unknown }
      if (amount !== null) mathResult(amount)
      return math.format(value)
    }
    default:
      return math.format(value)
  }
}

function bigNumber(value: BigNumber): number | string {
  if (!value.isFinite()) throw notFinite()
  const number = value.toNumber()
  return Number.isFinite(number) && value.eq(number) ? number : value.toString()
}

function fraction(value: Fraction): number | string {
  const number = Number(value.valueOf())
  return Number.isSafeInteger(number) && BigInt(value.d) === 1n ? number : math.format(value)
}

function matrix(value: Matrix): unknown {
  const rows: unknown[] = value.toArray()
  const elements = mathResult(rows)
  return count(rows) <= MAX_ARRAY_ELEMENTS ? elements : math.format(value)
}

const count = (rows: readonly unknown[]): number =>
  rows.reduce<number>((sum, row) => sum + (Array.isArray(row) ? count(row) : 1), 0)

// mathjs creates its parts on first use: do that before the first call.
mathEval({ expression: 'sqrt(2) + 2 * 3 cm / (1 m)' })
