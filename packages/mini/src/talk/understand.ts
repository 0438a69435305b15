import type { OfferedTool, Params } from '../base/port.ts'
import { wordsOfName } from '../base/tool-text.ts'
import { called, type RankedUse, rankTools } from '../choose/rank-tools.ts'
import { type Filling, fillParameters } from '../fill/fill-parameters.ts'
import { type Parameter, readParameters } from '../fill/parameter.ts'
import { readTools, type ToolReading } from '../fill/read-tool.ts'
import { validParams } from '../fill/valid-params.ts'
import { type Arithmetic, arithmeticIn, isExpression } from '../values/arithmetic.ts'
import { listedValues, says } from '../values/described-options.ts'

/** What was understood of a request: a call, or one that lacks something. */
export interface Understood {
  readonly tool: OfferedTool
  readonly params: Params
  /** What has to be asked for before the call can be made. */
  readonly missing: readonly Parameter[]
  /** From 0 to 1. */
  readonly relevance: number
  /** Undefined if no reading was needed. */
  readonly reading?: ToolReading
}

/**
 * A tool is called if this sum is reached: its relevance as a logit, and the weighted score of the required value that was
 * found worst. Chosen on requests of our own, each with its own tool and with others.
 */
const LEAST_SUM = 3
const WEIGHT_OF_VALUES = 0.5
const MIN_OF_VALUES = -12
const MAX_OF_VALUES = 10
/** A tool that requires nothing is called if it is more likely than not. */
const NOTHING_REQUIRED = LEAST_SUM / WEIGHT_OF_VALUES
/** A tool has to be this likely for a question about a missing value. */
const ASK_RELEVANCE = 0.8
/** A value that scores less was not said. */
const LEAST_SCORE = -3

/** The tool that is meant, with its values; undefined if none is. */
export async function understand(
  said: string,
  tools: readonly OfferedTool[],
  filling: Filling,
): Promise<Understood | undefined> {
  const sum = arithmeticIn(said)
  const calculator = sum === undefined ? undefined : tools.find((tool) => calculates(tool, sum))
  if (sum !== undefined && calculator !== undefined) {
    const params = { [expressionOf(calculator) as string]: sum.expression }
    return { tool: calculator, relevance: 1, ...(await validParams(filling.check, calculator.parameters, [], params)) }
  }
  const [best] = await rankTools(tools, said, filling.reader, filling.signal)
  const meant = best && (await fill(best, said, filling))
  return meant ?? searchDocumentation(said, tools, filling)
}

const HOW_TO =
  /^(?:(?:hi|hello|hey|ok|so|and|but)[\s,]+)*(?:how (?:do|can|could|would|should) (?:i|we|you|one)|how to|how does|where (?:do|can) (?:i|we)|where is)\s+\S/i
const ABOUT_DOCUMENTS = /\b(?:docs|documentation|manual|handbook)\b/i
const SEARCHES =
  /^(?:search|look|find|answer|query|get)\b[^.]{0,80}\b(?:documentation|docs|manual|handbook|knowledge base)\b/i

/** A question about how to do something that no other tool answers goes to the documentation, if a tool searches it. */
async function searchDocumentation(
  said: string,
  tools: readonly OfferedTool[],
  filling: Filling,
): Promise<Understood | undefined> {
  const howTo = HOW_TO.test(said.trim())
  if (!howTo && !ABOUT_DOCUMENTS.test(said)) return undefined
  const tool = tools.find(({ description }) => SEARCHES.test(description))
  const required = tool && readParameters(tool.parameters).filter((one) => one.required)
  const [only] = required ?? []
  if (tool === undefined || required?.length !== 1 || only?.kind !== 'text') return undefined
  const [reading] = (await readTools([tool], said, filling)) as [ToolReading]
  const { params } = await fillParameters(reading, [only], said, filling.now)
  const query = howTo ? said.trim().replace(/(?<![\s?!.])[\s?!.]+$/, '') : params[only.name]
  return { tool, relevance: 1, ...(await validParams(filling.check, tool.parameters, [only], { [only.name]: query })) }
}

async function fill(
  { tool, operation, relevance, reading }: RankedUse,
  said: string,
  filling: Filling,
): Promise<Understood | undefined> {
  const parameters = operation?.parameters ?? readParameters(tool.parameters)
  const { params, scores } = await fillParameters(reading, parameters, said, filling.now)
  const likely = Object.fromEntries(
    parameters
      .filter(({ name }) => name in params && (scores.get(name) as number) >= LEAST_SCORE)
      .filter((parameter) => isValue(params[parameter.name], parameter, tool))
      .map(({ name }) => [name, params[name]]),
  )
  const [only, ...others] = parameters.filter(({ kind }) => kind === 'text')
  if (only !== undefined && others.length === 0 && called(tool.name, said))
    likely[only.name] = said.slice(wordsOfName(tool.name).length).trim()
  const required = parameters.filter((parameter) => parameter.required)
  for (const { name, fallback } of required) if (!(name in likely) && fallback !== undefined) likely[name] = fallback
  const fixed = operation === undefined ? {} : { [operation.parameter]: operation.option, ...operation.standIns }
  const checked = await validParams(filling.check, tool.parameters, parameters, { ...fixed, ...likely })
  const understood = { tool, relevance, reading, ...checked }
  if (checked.missing.length > 0) return relevance >= ASK_RELEVANCE ? understood : undefined
  return checked.valid && isMeant(relevance, scores, required) ? understood : undefined
}

function isMeant(relevance: number, scores: ReadonlyMap<string, number>, required: readonly Parameter[]): boolean {
  const scoreOf = ({ name }: Parameter): number => scores.get(name) ?? MIN_OF_VALUES
  const worst =
    required.length === 0 ? Math.max(NOTHING_REQUIRED, ...scores.values()) : Math.min(...required.map(scoreOf))
  const weakest = Math.max(MIN_OF_VALUES, Math.min(MAX_OF_VALUES, worst))
  return logit(relevance) + WEIGHT_OF_VALUES * weakest >= LEAST_SUM
}

/** Whether a text can be the value: an expression has something to work out, and a listed value is on its list. */
function isValue(value: unknown, { name, description, required }: Parameter, tool: OfferedTool): boolean {
  if (typeof value !== 'string') return true
  if (expressionOf(tool) === name && !isExpression(value)) return false
  if (!required && SEARCHES.test(tool.description) && ABOUT_DOCUMENTS.test(value)) return false
  const listed = listedValues(description)
  return listed.length < 2 || listed.some((one) => says(value, one))
}

/** Whether a tool can work a sum out; with units only if its description mentions them. */
const calculates = (tool: OfferedTool, { units }: Arithmetic): boolean =>
  expressionOf(tool) !== undefined && (units === undefined || /\bunits?\b/i.test(tool.description))

/** The required text of a calculator. */
function expressionOf({ parameters }: OfferedTool): string | undefined {
  const required = readParameters(parameters).filter((parameter) => parameter.required)
  const [only] = required
  return required.length === 1 && only?.kind === 'text' && only.name === 'expression' ? only.name : undefined
}

const MIN_SHARE = 1e-7
const logit = (share: number): number => Math.log(Math.max(share, MIN_SHARE) / (1 - Math.min(share, 1 - MIN_SHARE)))
