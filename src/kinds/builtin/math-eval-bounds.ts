import type { BigNumber, Fraction, MathJsInstance, Matrix, Unit } from 'mathjs'

/** How many elements a matrix may have, on the way and at the end. */
const MAX_ELEMENTS = 1000

/** How many digits a bignumber or a fraction may have before or after the point. */
const MAX_DIGITS = 400

/** The largest argument of those functions that count up to it. */
const LARGEST: ReadonlyMap<string, number> = new Map([
  ['factorial', 1000],
  ['gamma', 1000],
  ['combinations', 1000],
  ['permutations', 1000],
  ['isPrime', 1e12],
])

/** Those that make a matrix of the size they are told. */
const SIZED = new Set(['identity', 'zeros', 'ones'])
const MAX_SIDE = 30

/** Those that are quick for ordinary numbers only. */
const NUMBERS_ONLY = new Set(['isPrime', 'leftShift', 'rightArithShift', 'rightLogShift'])

/** Those that take for ever over a large bignumber. */
const HYPERBOLIC = new Set(['cosh', 'coth', 'csch', 'sech', 'sinh', 'tanh'])
const MAX_HYPERBOLIC = 100

const POWERS = new Set(['pow', 'dotPow'])
const MAX_FRACTION_POWER = 1000

export type MathTypes = Pick<MathJsInstance, 'isBigNumber' | 'isFraction' | 'isMatrix' | 'isUnit'>

/** Keeps what goes into a function, and what comes out of it, so small that no function takes long. */
export class MathBounds {
  readonly #math: MathTypes

  constructor(math: MathTypes) {
    this.#math = math
  }

  /** Refuses arguments that would keep the function busy. */
  checkCall(name: string, values: readonly unknown[]): void {
    const all = values.flatMap((value) => this.#elements(value))
    const largest = LARGEST.get(name)
    if (largest !== undefined && all.some((value) => Math.abs(Number(value)) > largest)) {
      throw new Error(`an argument of "${name}" is larger than ${largest}`)
    }
    if (SIZED.has(name) && (all.length > 2 || all.some((value) => !(Number(value) <= MAX_SIDE)))) {
      throw new Error(`"${name}" takes at most two numbers, each at most ${MAX_SIDE}`)
    }
    if (NUMBERS_ONLY.has(name) && all.some((value) => typeof value === 'object')) {
      throw new Error(`"${name}" takes ordinary numbers only`)
    }
    const isHuge = (value: unknown) => this.#math.isBigNumber(value) && value.abs().gt(MAX_HYPERBOLIC)
    if (HYPERBOLIC.has(name) && all.some(isHuge)) {
      throw new Error(`"${name}" takes a bignumber of at most ${MAX_HYPERBOLIC}`)
    }
    // The norm of a matrix asks for its eigenvalues, which need not be found.
    if (name === 'norm' && values.some((value) => this.#math.isMatrix(value) && value.size().length > 1)) {
      throw new Error('"norm" takes a number or a vector')
    }
    const [base, power] = all
    if (POWERS.has(name) && this.#math.isFraction(base) && !(Math.abs(Number(power)) <= MAX_FRACTION_POWER)) {
      throw new Error(`a fraction can be raised to at most ${MAX_FRACTION_POWER}`)
    }
  }

  /** Refuses a value that has grown too large to go on with. */
  checkValue(value: unknown): void {
    const all = this.#elements(value)
    if (all.length > MAX_ELEMENTS) throw new Error(`a matrix has more than ${MAX_ELEMENTS} elements`)
    for (const each of all) {
      if (this.#digits(each) > MAX_DIGITS) throw new Error(`a number has more than ${MAX_DIGITS} digits`)
    }
  }

  /** The single values in a value, units taken off. */
  #elements(value: unknown): unknown[] {
    if (this.#math.isMatrix(value)) return this.#elements((value as Matrix).valueOf())
    if (Array.isArray(value)) return value.flat(Number.POSITIVE_INFINITY).flatMap((each) => this.#elements(each))
    if (this.#math.isUnit(value)) return [(value as Unit & { value: unknown }).value]
    return [value]
  }

  #digits(value: unknown): number {
    if (this.#math.isBigNumber(value)) return Math.abs((value as BigNumber).e || 0)
    if (this.#math.isFraction(value))
      return (value as Fraction).n.toString().length + (value as Fraction).d.toString().length
    // Nothing here makes one; those that would have no bound.
    return typeof value === 'bigint' ? Number.POSITIVE_INFINITY : 0
  }
}
