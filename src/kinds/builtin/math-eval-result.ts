import type { BigNumber, Complex, Fraction, MathJsInstance, Matrix, Unit } from 'mathjs'

/** How many elements a matrix may have to come back as arrays; a larger one comes back as text. */
const MAX_ARRAY_ELEMENTS = 100

const notFinite = (): Error => new Error('the result is not a finite number')

/** A result as JSON: numbers, booleans, texts and small matrices as they are, all else in the words of mathjs. */
export function mathResult(math: MathJsInstance, value: unknown): unknown {
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
      return fraction(math, value as Fraction)
    case 'Array':
      return (value as unknown[]).map((each) => mathResult(math, each))
    case 'DenseMatrix':
    case 'SparseMatrix':
      return matrix(math, value as Matrix)
    case 'Complex': {
      const { re, im } = value as Complex
      if (!Number.isFinite(re) || !Number.isFinite(im)) throw notFinite()
      return math.format(value)
    }
    case 'Unit': {
      const { value: amount } = value as Unit & { value: unknown }
      if (amount !== null) mathResult(math, amount)
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

function fraction(math: MathJsInstance, value: Fraction): number | string {
  const number = Number(value.valueOf())
  return Number.isSafeInteger(number) && BigInt(value.d) === 1n ? number : math.format(value)
}

function matrix(math: MathJsInstance, value: Matrix): unknown {
  const rows: unknown[] = value.toArray()
  const elements = mathResult(math, rows)
  return count(rows) <= MAX_ARRAY_ELEMENTS ? elements : math.format(value)
}

const count = (rows: readonly unknown[]): number =>
  rows.reduce<number>((sum, row) => sum + (Array.isArray(row) ? count(row) : 1), 0)
