import { JSONPathEnvironment, JSONPathError, type JSONPathQuery, jsonpath } from 'json-p3'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { PathBudget, PathFilter, type Test, type Walk } from './path-filter.ts'

/** Takes less than 250 ms over the worst 5 MB. */
const MAX_STEPS = 1_500_000

const environment = new JSONPathEnvironment()

/** A compiled JSONPath (RFC 9535). */
export class JsonPath {
  /** Whether it selects at most one value. */
  readonly singular: boolean
  /** The names that the path begins with: `['steps', 'fetch']` for `$.steps.fetch[*].id`. */
  readonly names: readonly string[]
  readonly #walk: Walk
  readonly #budget = new PathBudget(MAX_STEPS)

  constructor(path: string) {
    try {
      const query = environment.compile(path)
      this.singular = query.singularQuery()
      this.names = leadingNames(query)
      this.#walk = pathWalk(query, this.#budget)
    } catch (error) {
      const what = error instanceof JSONPathError ? error.message : `${(error as Error).message} cannot be used`
      throw new Error(`${JSON.stringify(path)} is not a JSONPath that can be followed: ${what}`)
    }
  }

  /**
   * Returns one value for a singular path, else the list of all values; null if there are none. Throws `PathTooMuch`
   * if the path takes too many steps.
   */
  find(value: unknown): unknown {
    const found: unknown[] = []
    this.#budget.begin()
    this.#walk(value, value, (one) => found.push(one))
    if (found.length === 0) return null
    return this.singular ? found[0] : found
  }
}

const { selectors } = jsonpath

function leadingNames({ segments }: JSONPathQuery): string[] {
  const names: string[] = []
  for (const segment of segments) {
    const [selector, ...others] = segment.selectors
    const isName = others.length === 0 && selector instanceof selectors.NameSelector
    if (!isName || segment.toString().startsWith('..')) break
    names.push(selector.name)
  }
  return names
}

/**
 * Compiles a path that json-p3 parsed. json-p3's own evaluation stores the location of every node, takes seconds over
 * large responses, and can't be stopped.
 */
function pathWalk(query: JSONPathQuery, budget: PathBudget): Walk {
  let next: Walk = (value, _root, emit) => {
    budget.spend(1)
    emit(value)
  }
  for (const segment of query.segments.toReversed()) {
    const after = next
    const selects = segment.selectors.map((selector) => select(selector, after, budget))
    next = segment.toString().startsWith('..') ? descend(selects, budget) : inTurn(selects)
  }
  return next
}

const inTurn = (selects: readonly Walk[]): Walk =>
  selects.length === 1 && selects[0] !== undefined
    ? selects[0]
    : (value, root, emit) => {
        for (const one of selects) one(value, root, emit)
      }

function descend(selects: readonly Walk[], budget: PathBudget): Walk {
  const here = inTurn(selects)
  const visit: Walk = (value, root, emit) => {
    if (typeof value !== 'object' || value === null) return
    here(value, root, emit)
    for (const child of budget.childrenOf(value)) visit(child, root, emit)
  }
  return visit
}

function select(selector: unknown, next: Walk, budget: PathBudget): Walk {
  if (selector instanceof selectors.NameSelector) return selectName(selector.name, next, budget)
  if (selector instanceof selectors.IndexSelector) return selectIndex(selector.index, next, budget)
  if (selector instanceof selectors.SliceSelector) return selectSlice(selector, next, budget)
  if (selector instanceof selectors.FilterSelector) {
    const filter = new PathFilter(budget, (query) => pathWalk(query, budget))
    return selectWhere(filter.test(selector.expression), next, budget)
  }
  if (selector instanceof selectors.WildcardSelector) return selectWhere(() => true, next, budget)
  throw new Error('a selector that RFC 9535 does not define')
}

const selectName =
  (name: string, next: Walk, budget: PathBudget): Walk =>
  (value, root, emit) => {
    budget.spend(1)
    if (!isObject(value) || !Object.hasOwn(value, name)) return
    next((value as Record<string, unknown>)[name], root, emit)
  }

const selectIndex =
  (index: number, next: Walk, budget: PathBudget): Walk =>
  (value, root, emit) => {
    budget.spend(1)
    if (!Array.isArray(value)) return
    const at = index < 0 ? value.length + index : index
    if (at >= 0 && at < value.length) next(value[at], root, emit)
  }

interface Slice {
  readonly start?: number | undefined
  readonly stop?: number | undefined
  readonly step?: number | undefined
}

function selectSlice({ start, stop, step = 1 }: Slice, next: Walk, budget: PathBudget): Walk {
  return (value, root, emit) => {
    if (!Array.isArray(value) || step === 0) return
    const { length } = value
    const [least, most] = step > 0 ? [0, length] : [-1, length - 1]
    const bound = (index: number): number => Math.min(Math.max(index < 0 ? length + index : index, least), most)
    const from = start === undefined ? (step > 0 ? 0 : length - 1) : bound(start)
    const to = stop === undefined ? (step > 0 ? length : -1) : bound(stop)
    for (let at = from; step > 0 ? at < to : at > to; at += step) {
      budget.spend(1)
      next(value[at], root, emit)
    }
  }
}

const selectWhere =
  (isWanted: Test, next: Walk, budget: PathBudget): Walk =>
  (value, root, emit) => {
    if (typeof value !== 'object' || value === null) return
    for (const child of budget.childrenOf(value)) if (isWanted(child, root)) next(child, root, emit)
  }
