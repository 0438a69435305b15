import type { Params } from '../../core/tool.ts'
import type { OfferedTool } from '../model.ts'
import { rankTools } from './choose/rank-tools.ts'
import { type Filling, fillParameters } from './fill/fill-parameters.ts'
import { type Parameter, type ParameterKind, readParameters } from './fill/parameter.ts'
import { validParams } from './fill/valid-params.ts'
import { arithmeticIn } from './values/arithmetic.ts'

/** What was understood of a request: a call, or one that lacks something. */
export interface Understood {
  readonly tool: OfferedTool
  readonly params: Params
  /** What has to be asked for before the call can be made. */
  readonly missing: readonly Parameter[]
  /** From 0 to 1. */
  readonly relevance: number
}

/** How much the value that was found worst counts, beside the relevance of the tool; both as logits. */
const WEIGHT_OF_VALUES = 0.5
const MOST_OF_VALUES = 10
const LEAST_OF_VALUES = -12
const LEAST_SUM = 0
/** A text that a call cannot do without, and that scores less, was not said; a number is taken where there is one. */
const LEAST_SCORE = -16
/** Only where a tool is this likely is it worth to ask for what it lacks. */
const ASK_RELEVANCE = 0.8

/** The tool that is meant, with its values; undefined where none is. */
export async function understand(
  said: string,
  tools: readonly OfferedTool[],
  filling: Filling,
): Promise<Understood | undefined> {
  const sum = arithmeticIn(said)
  const calculator = sum === undefined ? undefined : tools.find(takesExpression)
  if (sum !== undefined && calculator !== undefined) {
    const params = { [expressionOf(calculator) as string]: sum.expression }
    return { tool: calculator, relevance: 1, ...(await validParams(calculator.parameters, [], params)) }
  }
  const [best] = await rankTools(tools, said, filling.scorer, filling.signal)
  // Below it no tool is meant, whatever is found.
  const hopeless = LEAST_SUM - WEIGHT_OF_VALUES * MOST_OF_VALUES
  if (best === undefined || logit(best.relevance) < hopeless) return undefined
  const { tool, relevance } = best
  const parameters = readParameters(tool.parameters)
  const { params, scores } = await fillParameters(tool.name, parameters, said, filling)
  const required = parameters.filter((parameter) => parameter.required)
  const scoreOf = ({ name }: Parameter): number => scores.get(name) ?? Number.NEGATIVE_INFINITY
  const likely = Object.fromEntries(
    parameters
      .filter(({ name, kind }) => name in params && (isNumber(kind) || (scores.get(name) as number) >= LEAST_SCORE))
      .map(({ name }) => [name, params[name]]),
  )
  for (const { name, fallback } of required) if (!(name in likely) && fallback !== undefined) likely[name] = fallback
  const checked = await validParams(tool.parameters, parameters, likely)
  if (checked.missing.length > 0) return relevance >= ASK_RELEVANCE ? { tool, relevance, ...checked } : undefined
  const worst = required.length === 0 ? Math.max(0, ...scores.values()) : Math.min(...required.map(scoreOf))
  const weakest = Math.max(LEAST_OF_VALUES, Math.min(MOST_OF_VALUES, worst))
  const total = logit(relevance) + WEIGHT_OF_VALUES * weakest
  return checked.valid && total >= LEAST_SUM ? { tool, relevance, ...checked } : undefined
}

const isNumber = (kind: ParameterKind): boolean => kind === 'number' || kind === 'integer'

const logit = (share: number): number => Math.log(Math.max(share, 1e-7) / (1 - Math.min(share, 1 - 1e-7)))

const takesExpression = (tool: OfferedTool): boolean => expressionOf(tool) !== undefined

/** The one text that a calculator cannot do without. */
function expressionOf({ parameters }: OfferedTool): string | undefined {
  const required = readParameters(parameters).filter((parameter) => parameter.required)
  const [only] = required
  return required.length === 1 && only?.kind === 'text' && only.name === 'expression' ? only.name : undefined
}
