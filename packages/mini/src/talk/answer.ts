import type { Message, OfferedTool, Params } from '../base/port.ts'
import { wordsOfName } from '../base/tool-text.ts'
import { parametersUsed } from '../choose/operations.ts'
import { type Filling, fillParameters, type Place } from '../fill/fill-parameters.ts'
import { plainText } from '../fill/make-value.ts'
import { type Parameter, readParameters } from '../fill/parameter.ts'
import { readTools, type ToolReading } from '../fill/read-tool.ts'
import { severalCalls } from '../fill/several-calls.ts'
import { validParams } from '../fill/valid-params.ts'
import { arithmeticIn } from '../values/arithmetic.ts'
import { describedOptions, mentioned } from '../values/described-options.ts'
import {
  type Answered,
  about,
  beginsRequest,
  correctionIn,
  forbids,
  lastCall,
  noTool,
  questionFor,
  readWanted,
  sayResults,
  smallTalk,
  splitRequest,
} from './conversation.ts'
import { introduced, type Understood, understand, understandAll } from './understand.ts'

/** What the model does: it says something, or calls. */
export type Answer = string | readonly Call[]

interface Call {
  readonly tool: string
  readonly params: Params
}

interface Talk extends Filling {
  /** `mini:v1`, as it is called here. */
  readonly id: string
  readonly tools: readonly OfferedTool[]
}

/** The model sees 128 tokens of a pair; far beyond them nothing is looked at. */
const MAX_SAID_LENGTH = 4_000
/** Deeper than any indentation that a value may hold. */
const LONG_SPACE = /(?<!\s)(\s{40})\s+/g
/** What reading a clause and the whole message takes. */
const TOKENS_OF_MESSAGE = 900
const GIVEN_UP = /^(?:never ?mind|cancel|stop|forget (?:it|that)|nothing|nevermind)\b/i
const NOTHING_DONE = 'All right, nothing was done.'
const ABOUT_ME =
  /^(?:(?:so|ok|hey|hi|hello|and)[\s,]+)*(?:help(?: me)?|who are you|what are you|what(?:['’]s| is) your name|what can (?:you|i) do(?: here| for me)?|what do you do|(?:what|which) tools (?:do you have|are there|can you use)|tell me about yourself)[\s?!.]*$/i
/** A few words that only make sense after a call: "in fahrenheit please", "Berlin?". */
const ADDS = /^(?:in|at|for|on|with|to|from|as|but|also|the same)\b|\?$/i
const MAX_ADDED = 5
const BEFORE_VALUE =
  /^(?:(?:in|at|for|to|on|from|with|about|the|an?|it['’]?s|it is|that['’]?s|please|use|make it)\s+)+/i

/** Answers a conversation: speaks of the results where there are any, else looks for what is wanted. */
export async function answerTo(messages: readonly Message[], talk: Talk): Promise<Answer> {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const said = readable(messages[last]?.content ?? '')
  const since = messages.slice(last + 1)
  const results = since.filter((message) => message.role === 'tool')
  if (results.length > 0) {
    const calls = since.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
    return sayResults(results, { calls, tools: talk.tools, said })
  }
  if (said === '') return about(talk.tools, talk.id)
  const { request, answers } = readWanted(messages, last)
  if (answers.length > 0) return answerWith(readable(request), answers, said, talk)
  if (ABOUT_ME.test(said)) return about(talk.tools, talk.id)
  const talked = smallTalk(said) ?? (forbids(said) ? NOTHING_DONE : undefined)
  if (talked !== undefined) return talked
  if (!/[\p{L}\p{N}]/u.test(said)) return about(talk.tools, talk.id)
  const rest = correctionIn(said)
  if (rest !== undefined && !beginsRequest(rest)) {
    const corrected = await correct(messages, last, rest, talk)
    if (corrected !== undefined) return corrected
  }
  const parts = await understoodParts(said, talk)
  const open = parts.every(({ missing }) => missing.length > 0)
  const added = open && addsToCall(said) ? await correct(messages, last, said, talk, true) : undefined
  return added ?? fresh(said, talk, parts)
}

async function fresh(said: string, talk: Talk, understood?: readonly Part[]): Promise<Answer> {
  const sum = arithmeticIn(said)
  if (sum?.result !== undefined) return `${sum.phrase} is ${sum.result}.`
  const parts = understood ?? (await understoodParts(said, talk))
  if (parts.length === 0) return noTool(talk.tools, talk.id)
  const lacking = parts.find(({ missing }) => missing.length > 0)
  if (lacking !== undefined) return questionFor(lacking.missing[0] as Parameter)
  const calls: Call[] = []
  for (const part of parts) {
    const taken = parts.flatMap((one) => (one !== part && one.said === part.said ? (one.places ?? []) : []))
    for (const params of await callsOf(part, talk, taken)) calls.push({ tool: part.tool.name, params })
  }
  return calls
}

/** The requests of a message: each clause that is one by itself, with those that add to it; else the whole message is one. */
async function understoodParts(said: string, talk: Talk): Promise<readonly Part[]> {
  const partsIn = async (text: string, tools = talk.tools): Promise<readonly Part[]> =>
    (await understandAll(text, tools, talk)).map((one) => ({ ...one, said: text }))
  const verbs = new Set(talk.tools.flatMap(({ name }) => wordsOfName(name).split(' ')))
  const clauses = splitRequest(said, verbs).filter((clause) => !forbids(clause))
  // What follows "summarize:" is a text, not requests.
  if (clauses.length < 2 || talk.tools.some(({ name }) => introduced(name, said))) return partsIn(said)
  const requests: (readonly Part[])[] = []
  for (const clause of clauses) {
    if ((talk.reader.left?.() ?? TOKENS_OF_MESSAGE) < TOKENS_OF_MESSAGE) return partsIn(said)
    const own = await partsIn(clause)
    const last = requests.at(-1)
    if (isOwn(own) && !addsTo(last, own)) requests.push(own)
    else if (last !== undefined) {
      const text = said.slice(said.indexOf(last[0]?.said as string), said.indexOf(clause) + clause.length)
      const tools = last.map(({ tool }) => tool)
      const longer = await partsIn(text, tools)
      if (isOwn(longer)) requests.splice(-1, 1, longer)
    } else if (beginsRequest(clause)) return partsIn(said)
  }
  return requests.length > 1 ? requests.flat() : partsIn(said)
}

const isOwn = (parts: readonly Part[]): boolean =>
  parts.length > 0 && parts.every(({ missing }) => missing.length === 0)

/** Whether a clause says more about the request before it: "Find a song. It should be from 2019." */
function addsTo([before, ...others]: readonly Part[] = [], [own, ...more]: readonly Part[]): boolean {
  if (before === undefined || own === undefined || others.length + more.length > 0) return false
  const same = ([name, value]: [string, unknown]): boolean =>
    !Object.hasOwn(before.params, name) || JSON.stringify(before.params[name]) === JSON.stringify(value)
  return before.tool === own.tool && Object.entries(own.params).every(same)
}

/** What was understood, and of which words. */
type Part = Understood & { readonly said: string }

/** The request again, with what was answered since. */
async function answerWith(request: string, answers: readonly Answered[], said: string, talk: Talk): Promise<Answer> {
  if (GIVEN_UP.test(said)) return NOTHING_DONE
  const whole = said.split(/\s+/).length > 3 ? await understand(said, talk.tools, talk) : undefined
  if (whole !== undefined && whole.missing.length === 0 && whole.relevance > 0.9) return fresh(said, talk)
  const first = await understand(request, talk.tools, talk)
  if (first === undefined) return fresh(said, talk)
  const parameters = parametersUsed(readParameters(first.tool.parameters), first.params)
  const params: Record<string, unknown> = Object.assign(Object.create(null), first.params)
  for (const { asked, answer } of answers) {
    const parameter = parameters.find(({ name }) => wordsOfName(name) === asked)
    if (parameter === undefined) continue
    const value = await valueIn(readable(answer), parameter, first.tool, talk)
    if (value !== undefined) params[parameter.name] = value
  }
  const { missing, valid, params: proper } = await validParams(talk.check, first.tool.parameters, parameters, params)
  const [lacking] = missing
  if (lacking !== undefined) return questionFor(lacking)
  return valid ? [{ tool: first.tool.name, params: proper }] : noTool(talk.tools, talk.id)
}

/** An answer to "Which …?" is the value, with or without words around it. */
async function valueIn(answer: string, parameter: Parameter, tool: OfferedTool, talk: Talk): Promise<unknown> {
  const bare = bareValue(answer)
  const [listed, ...others] = mentioned(describedOptions(parameter.description), answer)
  if (listed !== undefined && others.length === 0) return listed.value
  const short = bare.split(/\s+/).length <= 4
  if (parameter.kind === 'text' && short && parameter.format === undefined) return bare
  const [reading] = (await readTools([tool], answer, talk)) as [ToolReading]
  const { params } = await fillParameters(reading, [{ ...parameter, required: true }], answer, talk.now)
  return params[parameter.name] ?? (parameter.kind === 'text' ? bare : undefined)
}

/** The last call with other values: "no, in Berlin". Undefined where nothing is corrected; `sure` takes no guess. */
async function correct(
  messages: readonly Message[],
  last: number,
  rest: string,
  talk: Talk,
  sure = false,
): Promise<Answer | undefined> {
  const made = lastCall(messages, last) ?? (await madeBefore(messages, last, talk))
  const tool = talk.tools.find(({ name }) => name === made?.tool)
  if (made === undefined || tool === undefined) return undefined
  const parameters = parametersUsed(readParameters(tool.parameters), made.params)
  const [reading] = (await readTools([tool], rest, talk)) as [ToolReading]
  const { params, scores } = await fillParameters(reading, parameters, rest, talk.now)
  const told = Object.entries(params).filter(([name]) => (scores.get(name) as number) > 0)
  const changed: Record<string, unknown> = { ...made.params, ...Object.fromEntries(told) }
  if (told.length === 0) {
    if (sure) return undefined
    const only = parameters.filter(({ kind, name }) => kind === 'text' && name in made.params)
    if (only.length !== 1) return undefined
    changed[(only[0] as Parameter).name] = bareValue(rest)
  }
  const { valid, params: proper } = await validParams(talk.check, tool.parameters, parameters, changed)
  return valid ? [{ tool: tool.name, params: proper }] : undefined
}

/** The call of the request before, where the history does not hold calls. */
async function madeBefore(messages: readonly Message[], last: number, talk: Talk): Promise<Call | undefined> {
  const before = messages.slice(0, last).findLast(({ role }) => role === 'user')
  if (before === undefined) return undefined
  const understood = await understand(readable(before.content ?? ''), talk.tools, talk)
  return understood === undefined ? undefined : { tool: understood.tool.name, params: understood.params }
}

const addsToCall = (said: string): boolean =>
  ADDS.test(said) && said.split(/\s+/).length <= MAX_ADDED && !beginsRequest(said)

/** Without the words that only make it a sentence. */
const bareValue = (text: string): string =>
  plainText(
    text
      .replace(/(?<![\s.!?])[\s.!?]+$/, '')
      .replace(/(?:,|(?<!\s))\s+please$/i, '')
      .replace(BEFORE_VALUE, ''),
  )

/** What the rules read of a message: its beginning, with long runs of white space shortened. */
const readable = (text: string): string =>
  text.trimStart().slice(0, MAX_SAID_LENGTH).toWellFormed().replaceAll(LONG_SPACE, '$1').trim()

/** One call, or one for each of several values. */
async function callsOf(part: Part, { check, now }: Talk, taken: readonly Place[]): Promise<readonly Params[]> {
  const { tool, params, said, reading } = part
  if (reading === undefined) return [params]
  const parameters = parametersUsed(readParameters(tool.parameters), params)
  const calls = await severalCalls(params, parameters, reading, said, now, taken)
  const problems = await Promise.all(calls.map((call) => check(tool.parameters, call)))
  return problems.every(({ length }) => length === 0) ? calls : [params]
}
