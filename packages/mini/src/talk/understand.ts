import { isObject, type OfferedTool, type Params, type SearchTools } from '../base/port.ts'
import { wordsOfName } from '../base/tool-text.ts'
import { type Operation, operationsOf } from '../choose/operations.ts'
import type { ToolReader } from '../engine/tool-reader.ts'
import { datesIn, takesDate } from '../fill/assign-spans.ts'
import { type Filling, fillParameters, type Place } from '../fill/fill-parameters.ts'
import { type Parameter, readParameters } from '../fill/parameter.ts'
import { headOf, readTools, type ToolReading } from '../fill/read-tool.ts'
import { validParams } from '../fill/valid-params.ts'
import { type Arithmetic, arithmeticIn } from '../values/arithmetic.ts'
import { says } from '../values/described-options.ts'

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
  /** The pieces of the message that the values were made of. */
  readonly places?: readonly Place[]
}

/**
 * A tool is called if this sum is reached: its relevance as a logit, and the weighted score of the required value that was
 * found worst. Chosen on requests of our own, each with its own tool and with others.
 */
const LEAST_SUM = 2.5
const WEIGHT_OF_VALUES = 0.8
const MIN_OF_VALUES = -12
const MAX_OF_VALUES = 10
/** A tool that requires nothing is called if it is a third likely: others are at a tenth. */
const NOTHING_REQUIRED = (LEAST_SUM + 0.6) / WEIGHT_OF_VALUES
/** A tool has to be this likely for a question about a missing value. */
const ASK_RELEVANCE = 0.8
/** A further tool has to be this likely. */
const ALSO_RELEVANCE = 0.7
/** A value that scores less was not said. */
const LEAST_SCORE = -3

/** The tool that is meant most, with its values; undefined if none is. */
export async function understand(
  said: string,
  tools: readonly OfferedTool[],
  filling: Filling,
): Promise<Understood | undefined> {
  const [first] = await understandAll(said, tools, filling)
  return first
}

/** The tools that are meant, with their values: the likeliest, and those that take other parts of the message. */
export async function understandAll(
  said: string,
  tools: readonly OfferedTool[],
  filling: Filling,
): Promise<Understood[]> {
  const sum = arithmeticIn(said)
  const calculator = sum === undefined ? undefined : tools.find((tool) => calculates(tool, sum))
  const calculated = async (): Promise<Understood | undefined> => {
    if (sum === undefined || calculator === undefined) return undefined
    const params = { [expressionOf(calculator) as string]: sum.expression }
    return { tool: calculator, relevance: 1, ...(await validParams(filling.check, calculator.parameters, [], params)) }
  }
  if (sum?.story !== true && calculator !== undefined) return listOf(await calculated())
  const documented = await searchDocumentation(said, tools, filling, true)
  if (documented !== undefined) return [documented]
  const [best, ...others] = await rankTools(tools, said, filling)
  const meant = best && best.tool !== calculator ? await fill(best, said, filling) : undefined
  if (meant === undefined) return listOf((await calculated()) ?? (await searchDocumentation(said, tools, filling)))
  const all = [meant]
  for (const other of others.filter(({ relevance }) => relevance >= ALSO_RELEVANCE)) {
    const more = await fill(other, said, filling)
    if (more?.missing.length === 0 && all.every((one) => areApart(one.places, more.places))) all.push(more)
  }
  const start = ({ places = [] }: Understood): number => Math.min(...places.map(({ from }) => from))
  return all.sort((one, next) => start(one) - start(next))
}

const listOf = (one: Understood | undefined): Understood[] => (one === undefined ? [] : [one])

/** Whether the values of two calls are different pieces of the message. */
function areApart(places: readonly Place[] = [], others: readonly Place[] = []): boolean {
  const overlap = (one: Place): boolean => others.some(({ from, to }) => from < one.to && one.from < to)
  return places.length > 0 && others.length > 0 && !places.some(overlap)
}

const HOW_TO =
  /^(?:(?:hi|hello|hey|ok|so|and|but)[\s,]+)*(?:how (?:do|can|could|would|should) (?:i|we|you|one)|how to|how does|where (?:do|can) (?:i|we)|where (?:is|does))\s+\S/i
const ABOUT_DOCUMENTS = /\b(?:docs|documentation|manual|handbook)\b/i
const SEARCHES =
  /^(?:search|look|find|answer|query|get)\b[^.]{0,80}\b(?:documentation|docs|manual|handbook|knowledge base)\b/i

const QUESTION = /^(?:how|what|where|which|who|why|when|can|could|does|do|is|are|should|will)\b|\?$/i

/** The names in the first sentence of a description: what a documentation is about. */
const subjectsOf = ({ description }: OfferedTool): string[] =>
  description.split(/[.:]\s/, 1)[0]?.match(/(?<= )\p{Lu}\p{Ll}+/gu) ?? []

/** A question about how to do something that no other tool answers goes to the documentation, if a tool searches it. */
async function searchDocumentation(
  said: string,
  tools: readonly OfferedTool[],
  filling: Filling,
  aboutSubject = false,
): Promise<Understood | undefined> {
  const tool = tools.find(({ description }) => SEARCHES.test(description))
  const asks =
    aboutSubject && tool !== undefined && QUESTION.test(said.trim()) && subjectsOf(tool).some((one) => says(said, one))
  const howTo = asks || HOW_TO.test(said.trim())
  if (aboutSubject ? !asks : !howTo && !ABOUT_DOCUMENTS.test(said)) return undefined
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
  const { params, scores, places } = await fillParameters(reading, parameters, said, filling.now)
  const found = Object.fromEntries(
    parameters
      .filter(({ name }) => Object.hasOwn(params, name) && (scores.get(name) as number) >= LEAST_SCORE)
      .filter(({ name, required }) => required || !isAboutDocuments(params[name], tool))
      .map(({ name }) => [name, params[name]]),
  )
  const likely: Record<string, unknown> = Object.assign(Object.create(null), found)
  const [only, ...others] = parameters.filter(({ kind }) => kind === 'text')
  if (only !== undefined && others.length === 0 && called(tool.name, said))
    likely[only.name] = said.slice(wordsOfName(tool.name).length + 1).trim()
  const required = parameters.filter((parameter) => parameter.required)
  const [main] = required
  if (main !== undefined && required.length === 1 && WHOLE_TEXT.test(main.name)) {
    const rest = afterColon(said)
    const found = String(likely[main.name] ?? '')
    if (rest?.includes(found.slice(found.lastIndexOf(': ') + 1).trim())) likely[main.name] = rest
  }
  for (const { name, fallback } of required)
    if (!Object.hasOwn(likely, name) && fallback !== undefined) likely[name] = fallback
  const fixed = operation === undefined ? {} : { [operation.parameter]: operation.option, ...operation.standIns }
  const checked = await validParams(filling.check, tool.parameters, parameters, { ...fixed, ...likely })
  const understood = { tool, relevance, reading, places, ...checked }
  if (checked.missing.length > 0) return relevance >= ASK_RELEVANCE ? understood : undefined
  return checked.valid && isMeant(relevance, scores, required) ? understood : undefined
}

/** Parameters that take a whole text, not a phrase of the message. */
const WHOLE_TEXT = /^(?:text|content|document)$/
const COLON = /^[^:"“]{1,80}:\s/

/** "Summarize this: …": the text after the colon. */
function afterColon(said: string): string | undefined {
  const start = COLON.exec(said)?.[0]
  return start && said.slice(start.length).trim()
}

function isMeant(relevance: number, scores: ReadonlyMap<string, number>, required: readonly Parameter[]): boolean {
  const scoreOf = ({ name }: Parameter): number => scores.get(name) ?? MIN_OF_VALUES
  const worst =
    required.length === 0 ? Math.max(NOTHING_REQUIRED, ...scores.values()) : Math.min(...required.map(scoreOf))
  const weakest = Math.max(MIN_OF_VALUES, Math.min(MAX_OF_VALUES, worst))
  return logit(relevance) + WEIGHT_OF_VALUES * weakest >= LEAST_SUM
}

/** Whether a value only says where to search: "the handbook". */
const isAboutDocuments = (value: unknown, { description }: OfferedTool): boolean =>
  typeof value === 'string' && SEARCHES.test(description) && ABOUT_DOCUMENTS.test(value)

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

/** A tool for one of its operations, or a tool that has none. */
interface Use {
  readonly tool: OfferedTool
  readonly operation?: Operation
  /** The operation as a tool of its own, which is how the model reads it. */
  readonly as: OfferedTool
}

/** A use, what was read about it, and how likely it is meant, from 0 to 1. */
interface RankedUse extends Use {
  readonly reading: ToolReading
  readonly relevance: number
}

/** How many of the nearest tools are read. */
const MAX_READ = 3
/** A longer list is searched by words first: embedding a tool takes tens of milliseconds. */
const MAX_COMPARED = 64
/** The search gives this many tools of a longer list. */
const MAX_FOUND = 16
/** The token limit of a question is enough to embed this many tools. */
const MAX_UNORDERED = 10

/** The uses of tools that may be meant, the likeliest first. */
async function rankTools(
  tools: readonly OfferedTool[],
  said: string,
  { reader, search, now, signal }: Filling,
): Promise<RankedUse[]> {
  const dated = datesIn(said, 'yyyy-MM-dd', now).some(({ from, to }) => /\d/.test(said.slice(from, to)))
  const uses = (await likelyTools(tools, said, search)).flatMap((tool) => usesFor(usesOf(tool), dated))
  const likely = await nearest(uses, said, reader, MAX_READ, signal)
  const read = likely.map(({ as }) => as)
  const readings = await readTools(read, said, { reader, ...(signal && { signal }) })
  return likely
    .map((use, index) => {
      const reading = readings[index] as ToolReading
      const relevance = called(use.tool.name, said) ? 1 : Math.max(reading.relevance, namedShare(use, said))
      return { ...use, reading, relevance }
    })
    .sort((left, right) => right.relevance - left.relevance)
}

/** A date in the message rules out the operations that take none, if others of the tool do. */
function usesFor(uses: readonly Use[], dated: boolean): readonly Use[] {
  const taking = dated ? uses.filter(({ operation }) => operation?.parameters.some(takesDate)) : []
  return taking.length > 0 ? taking : uses
}

const known = new WeakMap<OfferedTool, readonly Use[]>()

function usesOf(tool: OfferedTool): readonly Use[] {
  const uses = known.get(tool) ?? makeUses(tool)
  known.set(tool, uses)
  return uses
}

function makeUses(tool: OfferedTool): readonly Use[] {
  const operations = operationsOf(readParameters(tool.parameters))
  if (operations.length === 0) return [{ tool, as: tool }]
  const all = isObject(tool.parameters.properties) ? tool.parameters.properties : {}
  return operations.map((operation) => {
    const { option, description, parameters } = operation
    const properties = Object.fromEntries(
      parameters.map((one) => [one.name, { ...Object(all[one.name]), description: one.description }]),
    )
    const required = parameters.filter((one) => one.required).map(({ name }) => name)
    const name = `${tool.name}_${option}`
    return { tool, operation, as: { name, description, parameters: { ...tool.parameters, properties, required } } }
  })
}

/** Whether the message calls the tool by its name: "echo hello". */
export const called = (name: string, said: string): boolean =>
  said.toLowerCase().startsWith(`${wordsOfName(name)} `) || introduced(name, said)

/** Whether the message is the name of the tool and a text for it: "summarize: …". */
export const introduced = (name: string, said: string): boolean =>
  said.toLowerCase().startsWith(`${wordsOfName(name)}:`)

const wordsIn = (text: string): Set<string> => new Set(text.toLowerCase().match(/\p{L}+/gu))

/** A tool is likely if the message says its whole name: "set a timer". */
function namedShare({ as }: Use, said: string): number {
  const words = wordsIn(wordsOfName(as.name))
  return words.size > 1 && words.isSubsetOf(wordsIn(said)) ? 0.94 : 0
}

/** The uses whose meaning is nearest to that of the message; a tool that it calls by name comes first. */
async function nearest(
  uses: readonly Use[],
  said: string,
  reader: ToolReader,
  count: number,
  signal?: AbortSignal,
): Promise<readonly Use[]> {
  if (uses.length <= count) return uses
  const heads = uses.map(({ as }) => headOf(as))
  const [own = []] = await reader.embed([said], signal)
  const embeddings = await reader.embedTools([...new Set(heads)], signal)
  const scores = uses.map(({ tool }, at) => {
    if (called(tool.name, said)) return Number.POSITIVE_INFINITY
    const embedding = embeddings.get(heads[at] as string) ?? []
    return own.reduce((sum, value, index) => sum + value * (embedding[index] ?? 0), 0)
  })
  return [...uses.keys()]
    .sort((left, right) => (scores[right] as number) - (scores[left] as number))
    .slice(0, count)
    .map((at) => uses[at] as Use)
}

/** The tools that may be meant, the likeliest first. */
async function likelyTools(
  tools: readonly OfferedTool[],
  said: string,
  search: SearchTools,
): Promise<readonly OfferedTool[]> {
  if (tools.length <= MAX_UNORDERED) return tools
  if (tools.length > MAX_COMPARED) return search(tools, said, MAX_FOUND)
  return [...new Set([...(await search(tools, said, MAX_COMPARED)), ...tools])]
}
