import type {
  ArrayNode,
  ConditionalNode,
  ConstantNode,
  FunctionNode,
  MathJsInstance,
  MathNode,
  OperatorNode,
  ParenthesisNode,
  RelationalNode,
  SymbolNode,
} from 'mathjs'
import { MathBounds } from './math-eval-bounds.ts'
import { CONSTANTS, FUNCTIONS, OPERATORS, REFUSED_SYNTAX } from './math-eval-names.ts'

type MathFunction = ((...values: unknown[]) => unknown) & { rawArgs?: boolean }
type Library = Readonly<Record<string, MathFunction>>

/** How deep an expression may be nested; a sum of so many terms is as deep. */
const MAX_DEPTH = 500

/**
 * Computes a parsed expression. It does not use mathjs' own evaluation, which resolves names and properties by itself:
 * here only what is written down in the lists of names can be reached, and nothing can be kept for a later expression.
 */
export class MathTree {
  readonly #math: MathJsInstance
  readonly #plain: Library
  /** Functions as expressions know them, with dimensions counted from one. */
  readonly #forExpressions: Library
  readonly #bounds: MathBounds

  constructor(math: MathJsInstance) {
    this.#math = math
    this.#plain = math as unknown as Library
    this.#forExpressions = (
      math as unknown as { expression: { mathWithTransform: Library } }
    ).expression.mathWithTransform
    this.#bounds = new MathBounds(math)
  }

  evaluate(node: MathNode): unknown {
    // The name of a function is a value only where nothing can be done with it.
    if (node.type === 'SymbolNode' && FUNCTIONS.has((node as SymbolNode).name)) {
      return this.#plain[(node as SymbolNode).name]
    }
    return this.#value(node, 0)
  }

  #value(node: MathNode, depth: number): unknown {
    if (depth > MAX_DEPTH) throw new Error(`the expression is nested more than ${MAX_DEPTH} deep`)
    const value = this.#compute(node, (child) => this.#value(child, depth + 1))
    this.#bounds.checkValue(value)
    return value
  }

  #compute(node: MathNode, value: (child: MathNode) => unknown): unknown {
    switch (node.type) {
      case 'ConstantNode':
        return constant(node as ConstantNode)
      case 'SymbolNode':
        return this.#symbol((node as SymbolNode).name)
      case 'ParenthesisNode':
        return value((node as ParenthesisNode).content)
      case 'ArrayNode':
        return this.#math.matrix((node as ArrayNode).items.map(value) as number[])
      case 'ConditionalNode': {
        const { condition, trueExpr, falseExpr } = node as ConditionalNode
        return value(isTrue(value(condition)) ? trueExpr : falseExpr)
      }
      case 'RelationalNode':
        return this.#relation(node as RelationalNode, value)
      case 'OperatorNode': {
        const { fn, op, args } = node as OperatorNode
        if (!OPERATORS.has(fn)) throw new Error(`operator "${op}" is not available`)
        return this.#call(fn, this.#plain[fn], args.map(value))
      }
      case 'FunctionNode':
        return this.#function(node as FunctionNode, value)
      default:
        throw new Error(`${REFUSED_SYNTAX.get(node.type) ?? `"${node.type}"`} is not available`)
    }
  }

  #symbol(name: string): unknown {
    if (CONSTANTS.has(name)) {
      const value: unknown = this.#plain[name]
      return this.#math.isUnit(value) ? value.clone() : value
    }
    if (FUNCTIONS.has(name)) throw new Error(`function "${name}" is used without its arguments`)
    if (name === 'Unit' || !this.#math.Unit.isValuelessUnit(name)) throw new Error(`unknown symbol "${name}"`)
    return this.#math.unit(name)
  }

  #function(node: FunctionNode, value: (child: MathNode) => unknown): unknown {
    const callee = node.fn as unknown as MathNode
    if (callee.type !== 'SymbolNode') throw new Error('a call of anything but a named function is not available')
    const { name } = callee as SymbolNode
    if (!FUNCTIONS.has(name)) throw new Error(`function "${name}" is not available`)
    const known = this.#forExpressions[name]
    return this.#call(name, known?.rawArgs === true ? this.#plain[name] : known, node.args.map(value))
  }

  #relation({ conditionals, params }: RelationalNode, value: (child: MathNode) => unknown): unknown {
    const values = params.map(value)
    return conditionals.every((name, at) => {
      if (!OPERATORS.has(name)) throw new Error(`operator "${name}" is not available`)
      return isTrue(this.#call(name, this.#plain[name], values.slice(at, at + 2)))
    })
  }

  #call(name: string, fn: MathFunction | undefined, values: unknown[]): unknown {
    if (fn === undefined) throw new Error(`function "${name}" is not available`)
    this.#bounds.checkCall(name, values)
    return fn(...values)
  }
}

function constant({ value }: ConstantNode): unknown {
  if (value === undefined) throw new Error('unknown symbol "undefined"')
  return value
}

function isTrue(value: unknown): boolean {
  if (typeof value === 'boolean' || typeof value === 'number') return Boolean(value)
  throw new Error('a condition must be true, false or a number')
}
