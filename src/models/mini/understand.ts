import type { Params } from '../../core/tool.ts'
import type { OfferedTool } from '../model.ts'
import { helpTool } from './choose/help-tool.ts'
import { type Operation, operationsOf } from './choose/operations.ts'
import { called, type RankedTool, rankTools } from './choose/rank-tools.ts'
import { type RankedUse, rankUses } from './choose/rank-uses.ts'
import { type Filling, fillParameters } from './fill/fill-parameters.ts'
import { type Parameter, type ParameterKind, readParameters } from './fill/parameter.ts'
import { saysNothing } from './fill/says-nothing.ts'
import { validParams } from './fill/valid-params.ts'
import { logit } from './logit.ts'
import { wordsOfName } from './pair-texts.ts'
import { type Arithmetic, arithmeticIn, isExpression } from './values/arithmetic.ts'
import { says } from './values/described-options.ts'
import { listedValues } from './values/listed-values.ts'

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
/** So many of the things that a tool does are tried, where the likeliest lacks something. */
const MOST_TRIED = 3

/** The tool that is meant, with its values; undefined where none is. */
export async function understand(
  said: string,
  tools: readonly OfferedTool[],
  filling: Filling,
): Promise<Understood | undefined> {
  const meant = await meantTool(said, tools, filling)
  const help = meant === undefined ? helpTool(said, tools) : undefined
  if (help === undefined) return meant
  const { tool, parameter } = help
  const params = { [parameter]: said.trim().replace(/(?<![\s?!.])[\s?!.]+$/, '') }
  return { tool, relevance: 1, ...(await validParams(tool.parameters, [], params)) }
}

async function meantTool(
  said: string,
  tools: readonly OfferedTool[],
  filling: Filling,
): Promise<Understood | undefined> {
  const sum = arithmeticIn(said)
  const calculator = sum === undefined ? undefined : tools.find((tool) => calculates(tool, sum))
  if (sum !== undefined && calculator !== undefined) {
    const params = { [expressionOf(calculator) as string]: sum.expression }
    return { tool: calculator, relevance: 1, ...(await validParams(calculator.parameters, [], params)) }
  }
  const ranked = await rankTools(tools, said, filling.scorer, filling.signal)
  const [best] = ranked
  const uses = await rankUses(ranked, said, filling)
  const [use] = uses
  if (best === undefined) return undefined
  const parameters = readParameters(best.tool.parameters)
  const several = operationsOf(parameters).length > 0
  if (several || (use !== undefined && use.relevance > best.relevance)) return tryUses(uses, said, filling)
  return fill(best, parameters, said, filling)
}

/** The likeliest of the things that tools do that lacks nothing; else the likeliest of all. */
async function tryUses(uses: readonly RankedUse[], said: string, filling: Filling): Promise<Understood | undefined> {
  let first: Understood | undefined
  for (const use of uses.slice(0, MOST_TRIED)) {
    const found = await fill(use, use.operation.parameters, said, filling, use)
    if (found?.missing.length === 0) return found
    first ??= found
  }
  return first
}

async function fill(
  { tool, relevance }: RankedTool | RankedUse,
  parameters: readonly Parameter[],
  said: string,
  filling: Filling,
  use?: RankedUse,
): Promise<Understood | undefined> {
  // Below it no tool is meant, whatever is found.
  const hopeless = LEAST_SUM - WEIGHT_OF_VALUES * MOST_OF_VALUES
  if (logit(relevance) < hopeless) return undefined
  const { params, scores } = await fillParameters(tool.name, parameters, said, filling, use?.words)
  const required = parameters.filter((parameter) => parameter.required)
  const scoreOf = ({ name }: Parameter): number => scores.get(name) ?? Number.NEGATIVE_INFINITY
  const likely = Object.fromEntries(
    parameters
      .filter(({ name, kind }) => name in params && (isNumber(kind) || (scores.get(name) as number) >= LEAST_SCORE))
      .filter((parameter) => isValue(params[parameter.name], parameter, tool))
      .map(({ name }) => [name, params[name]]),
  )
  const [only, ...others] = parameters.filter(({ kind }) => kind === 'text')
  if (only !== undefined && others.length === 0 && !(only.name in likely) && called(tool.name, said))
    likely[only.name] = said.slice(wordsOfName(tool.name).length).trim()
  for (const { name, fallback } of required) if (!(name in likely) && fallback !== undefined) likely[name] = fallback
  const checked = await validParams(tool.parameters, parameters, { ...fixedOf(use?.operation), ...likely })
  if (checked.missing.length > 0) {
    const asks = relevance >= ASK_RELEVANCE && (use === undefined || use.words.length > 0)
    return asks ? { tool, relevance, ...checked } : undefined
  }
  const worst = required.length === 0 ? Math.max(0, ...scores.values()) : Math.min(...required.map(scoreOf))
  const weakest = Math.max(LEAST_OF_VALUES, Math.min(MOST_OF_VALUES, worst))
  const total = logit(relevance) + WEIGHT_OF_VALUES * weakest
  return checked.valid && total >= LEAST_SUM ? { tool, relevance, ...checked } : undefined
}

const fixedOf = (operation: Operation | undefined): Params =>
  operation === undefined ? {} : { [operation.parameter]: operation.option, ...operation.standIns }

/** Whether a text can be the value: a name alone is none, a sum has something to work out, and a list takes nothing else. */
function isValue(value: unknown, { name, description }: Parameter, tool: OfferedTool): boolean {
  if (typeof value !== 'string') return true
  if (saysNothing(value, name, tool.name) || (expressionOf(tool) === name && !isExpression(value))) return false
  const listed = listedValues(description)
  return listed.length < 2 || listed.some((one) => says(value, one))
}

const isNumber = (kind: ParameterKind): boolean => kind === 'number' || kind === 'integer'

/** Whether a tool can work a sum out; those with units only where it speaks of them. */
const calculates = (tool: OfferedTool, { units }: Arithmetic): boolean =>
  expressionOf(tool) !== undefined && (units === undefined || /\bunits?\b/i.test(tool.description))

/** The one text that a calculator cannot do without. */
function expressionOf({ parameters }: OfferedTool): string | undefined {
  const required = readParameters(parameters).filter((parameter) => parameter.required)
  const [only] = required
  return required.length === 1 && only?.kind === 'text' && only.name === 'expression' ? only.name : undefined
}
