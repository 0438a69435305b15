import { nearest, numberProblem } from '../check-options.ts'
import { COST_RULE_SCHEMA, type CompilePath, type CostRule, inUnits, toMicros } from '../costs.ts'
import { foreignText } from '../json/json-depth.ts'
import type { CallRecord } from '../records/recorder.ts'
import type { ToolDefinition } from '../tool.ts'
import { ToolExecutionError } from '../tool-result.ts'

const KEYS = Object.keys(COST_RULE_SCHEMA.properties)
/** More than this is a mistake, whether a definition or a result says it. */
const MAX_PER_CALL = COST_RULE_SCHEMA.properties.per_call.maximum

/** `progress` is that of a tool that calls others. */
interface CostedCall {
  readonly progress: { readonly continues: boolean } | undefined
}

/** The cost of a tool's calls. */
export class ToolCost {
  /** In millionths. */
  readonly perCall: number
  readonly #fromResult: boolean
  /** Undefined in executors without JSONPath: what a result says is unknown there. */
  readonly #path: ReturnType<CompilePath> | undefined

  constructor({ per_call = 0, from_result }: CostRule, compile: CompilePath | undefined) {
    this.perCall = toMicros(per_call)
    this.#fromResult = from_result !== undefined
    this.#path = from_result === undefined ? undefined : compile?.(from_result)
  }

  /** The price per call: paid once by a call that waits for an approval and continues. */
  perCallOf({ progress }: CostedCall): number {
    return progress?.continues ? 0 : this.perCall
  }

  /** Undefined if only the result of a call says what it costs. */
  expected(call: CostedCall): number | undefined {
    return this.#fromResult ? undefined : this.perCallOf(call)
  }

  /** The cost of a call in millionths; undefined if it is unknown. */
  of(call: CostedCall & Pick<CallRecord, 'attempts' | 'code'>, result: unknown): number | undefined {
    const { attempts, code } = call
    // Refused calls and cached results cost nothing.
    if (attempts === 0) return 0
    const perCall = this.perCallOf(call)
    if (!this.#fromResult || (call.progress && code === 'APPROVAL_REQUIRED')) return perCall
    if (code !== undefined || this.#path === undefined) return undefined
    let found: unknown
    try {
      found = this.#path.find(result)
    } catch {
      // The path takes too many steps over this result.
      return undefined
    }
    // A path may find several costs.
    let micros = perCall
    for (const one of Array.isArray(found) ? found : [found]) {
      if (typeof one !== 'number' || !(one >= 0)) return undefined
      micros += toMicros(one)
    }
    return micros <= toMicros(MAX_PER_CALL) ? micros : undefined
  }
}

/** Undefined if the definition names no cost. Throws if it is invalid: a wrong price would silently count. */
export function bindCost(tool: ToolDefinition, compile?: CompilePath): ToolCost | undefined {
  const rule: unknown = tool.cost
  if (rule === undefined) return undefined
  const fail = (problem: string): never => {
    throw new ToolExecutionError('EXECUTION_ERROR', `Tool '${tool.name}' has an invalid cost: ${problem}`)
  }
  if (typeof rule !== 'object' || rule === null || Object.keys(rule).length === 0)
    return fail('it must be {per_call?, from_result?}')
  const unknown = Object.keys(rule).find((key) => !KEYS.includes(key))
  if (unknown !== undefined) fail(`unknown key '${unknown}'. ${nearest(unknown, KEYS)}`)
  const { per_call, from_result } = rule as { per_call?: unknown; from_result?: unknown }
  if (per_call !== undefined) {
    const problem = numberProblem(per_call, { min: 0, max: MAX_PER_CALL })
    if (problem !== undefined) fail(`per_call ${problem}`)
    const isExact = inUnits(toMicros(per_call as number)) === per_call
    if (!isExact) fail(`per_call ${foreignText(per_call)} has more than 6 decimals, which can't be counted exactly`)
  }
  if (from_result !== undefined && (typeof from_result !== 'string' || !from_result.startsWith('$'))) {
    fail(`from_result must be a JSONPath such as "$.cost", not ${JSON.stringify(from_result)}`)
  }
  try {
    return new ToolCost(rule as CostRule, compile)
  } catch (error) {
    return fail(`from_result ${(error as Error).message}`)
  }
}
