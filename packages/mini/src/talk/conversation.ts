import type { Message, OfferedTool, Params, ToolCall } from '../base/port.ts'
import { wordsOfName } from '../base/tool-text.ts'
import { operationsOf } from '../choose/operations.ts'
import { type Parameter, readParameters } from '../fill/parameter.ts'
import { arithmeticIn } from '../values/arithmetic.ts'
import { listedValues } from '../values/described-options.ts'

/** A question of ours that was answered. */
export interface Answered {
  /** The words of the parameter that was asked for. */
  readonly asked: string
  readonly answer: string
}

/** What a person wants, read from the whole conversation. */
interface Wanted {
  /** The request itself, which may stand some turns back. */
  readonly request: string
  readonly answers: readonly Answered[]
}

const QUESTION = /(?:^|\. |\n)Which ([^?:]{1,100})\?(?: [^?]{1,1000}\.)?$/
const MAX_QUESTION_LENGTH = 1_120
const CORRECTION =
  /^(?:no|nope|actually|sorry|wait|oops|i mean(?:t)?|rather|make (?:it|that)|what about|how about|and)\b[\s,.!:—-]*(?:i mean(?:t)?\b\s*|rather\b\s*|make (?:it|that)\b\s*|what about\b\s*|how about\b\s*)?/i

/** The question for a parameter, with what there is to choose from, as it is asked and recognised. */
export function questionFor({ name, description }: Parameter): string {
  const listed = listedValues(description)
  const choice = listed.length > 1 ? ` ${sentenceCase(listed.slice(0, -1).join(', '))} or ${listed.at(-1)}.` : ''
  return `Which ${wordsOfName(name)}?${choice}`
}

/** The request that the last message belongs to, with the answers to what we asked since. */
export function readWanted(messages: readonly Message[], last: number): Wanted {
  const answers: Answered[] = []
  let at = last
  for (;;) {
    const question = messages[at - 1]
    const asked =
      question?.role === 'assistant'
        ? QUESTION.exec((question.content ?? '').slice(-MAX_QUESTION_LENGTH))?.[1]
        : undefined
    const before = messages.slice(0, Math.max(0, at - 1)).findLastIndex(({ role }) => role === 'user')
    const answer = messages[at]?.content ?? ''
    if (asked === undefined || before < 0) return { request: answer, answers: answers.reverse() }
    answers.push({ asked, answer })
    at = before
  }
}

/** The content of a correction; undefined if it isn't one. */
export function correctionIn(said: string): string | undefined {
  const found = CORRECTION.exec(said.trim())
  const rest = found === null ? '' : said.trim().slice(found[0].length).trim()
  return rest === '' || rest.split(/\s+/).length > 12 ? undefined : rest
}

/** The last call before a message. */
export function lastCall(
  messages: readonly Message[],
  before: number,
): { readonly tool: string; readonly params: Params } | undefined {
  const calls = messages.slice(0, before).flatMap((one) => (one.role === 'assistant' ? (one.tool_calls ?? []) : []))
  const called = calls.at(-1)?.function
  const params = called && parse(called.arguments)
  return params && { tool: called.name, params }
}

const BEFORE_REFUSAL = /^(?:(?:please|hey|no|ok(?:ay)?|so|and|but)[\s,]+)+/i
/** "don't you think …?", "don't forget to …" and "I don't know" forbid nothing. */
const FORBIDS =
  /^(?:do not|don['’]?t|never|you (?:must|should) not|i (?:do not|don['’]?t) want(?: you)?)\s+(?!forget\b|you\b|worry\b|hesitate\b)\S/i

/** Whether the message says not to do something: nothing is called for that. */
export const forbids = (said: string): boolean => FORBIDS.test(said.trim().replace(BEFORE_REFUSAL, ''))

const END = String.raw`[\s.!,~]*(?:\p{Extended_Pictographic}[\s.!,]*)*$`
const only = (words: string, end = END): RegExp => new RegExp(`^(?:${words})${end}`, 'iu')

const GREETING = only(
  '(?:hi|hello|hey|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day))(?:[\\s,]+(?:there|all|everyone|everybody|you|mini|bot|again))*',
)
const THANKS = only(
  '(?:ok(?:ay)?|great|cool|perfect|no)?[\\s,]*(?:many )?(?:thanks|thank you|thx|ty|cheers)(?:[\\s,]+(?:a lot|a bunch|so much|very much|again|you|for (?:that|this|the help|your help|everything)))*',
)
const FAREWELL = only('(?:good ?bye|bye(?: bye)?|see you(?: later| soon)?|good night|cu|ciao)')
const YES =
  '(?:ok(?:ay)?|k|yes|yeah|yep|yup|no|nope|nah|cool|great|nice|perfect|awesome|good|fine|super|wow|lol|haha+|hm+|right|sure|i see|got it|well done|good (?:job|bot)|👍|🙏)'
/** What may follow such words, so that a row of 👍 has only one reading. */
const AFTER_YES = String.raw`[\s.!,]*(?:~[\s.!,~]*(?:\p{Extended_Pictographic}[\s.!,]*)*|(?![👍🙏])(?:\p{Extended_Pictographic}[\s.!,]*)+)?$`
const ASSENT = only(`${YES}(?:[\\s,.!]*${YES})*`, AFTER_YES)

/** The reply to a greeting, thanks and the like; undefined for anything else. */
export function smallTalk(said: string): string | undefined {
  if (GREETING.test(said)) return 'Hello! Say what to do, or ask "what can you do?".'
  if (THANKS.test(said)) return 'You are welcome.'
  if (FAREWELL.test(said)) return 'Goodbye.'
  return ASSENT.test(said) ? 'All right. Say what to do next, or ask "what can you do?".' : undefined
}

/** Words that start a request. A clause without one belongs to the previous one. */
const BEGINNINGS = new Set(
  (
    'add answer ask book buy calculate call cancel change check clear close compare compute convert copy count create decrease define delete describe ' +
    'dim disable display download draw email enable estimate evaluate explain extract fetch find fix generate get give go help increase ' +
    'insert install ingest list locate lock look lower make mark measure message move mute name open order pause pay plan play post predict print publish ' +
    'put raise read recommend record reduce remind remove rename repeat replace reply reserve reset restart resume retrieve run save schedule search reverse select send set share show ' +
    'shut silence skip solve sort split start stop summarise summarize switch take tell text toggle translate turn unlock unmute update upload use ' +
    'visit wake warm write'
  ).split(' '),
)
const QUESTIONS = new Set('how what what’s when where which who why'.split(' '))
/** What may precede a request. */
const POLITE =
  /^(?:(?:please|hey|hi|hello|ok|okay|now|so|first|can you|could you|would you|will you|i want(?: you)? to|i(?:'d| would) like(?: you)? to|i need(?: you)? to|let['’]s)[\s,]+)+/i
const JOINTS =
  /(?:(?:(?<=^|\n|[,:]\s)\d{1,2}[.)]|(?<=\s)(?<!\([^()]{0,40})\d{1,2}\))\s+|(?:(?<!\s)\s+)?(?:[.;!?]\s+(?:\d{1,2}[.)]\s+)?|,\s*(?:and\s+)?(?:then\s+)?)|(?<!\s)\s+(?:and\s+then|and\s+also|and|then|also)\s+)(?:and\s+)?(?:please\s+|also\s+)?/giu
/** A longer text isn't a list of requests. */
const MAX_CLAUSES = 6
const LONGEST = 1_000

/** The requests that may be in a message: sentences and list items, and clauses that begin with a verb of a request or of a tool; never in quotes. */
export function splitRequest(said: string, verbs: ReadonlySet<string> = new Set()): string[] {
  if (said.length > LONGEST) return [said]
  const clauses: string[] = []
  let start = 0
  for (const { index, 0: joint } of said.matchAll(JOINTS)) {
    const at = index + joint.length
    const clause = said.slice(start, index).trim()
    const sentence = /[;\d]/.test(joint) || /[.!?]\s+[\p{Lu}\d]/u.test(said.slice(index, at + 1))
    // A question after a comma is often a quotation.
    const begins =
      sentence || (isRequest(said.slice(at, at + 60), /\p{L}/u.test(joint), verbs) && isRequest(clause, true, verbs))
    if (!begins || quoted(said, index) || (clause.split(/\s+/).length < 2 && clause !== '')) continue
    if (clause !== '') clauses.push(clause)
    start = at
  }
  const rest = said.slice(start).trim()
  if (rest !== '') clauses.push(rest)
  return clauses.length > MAX_CLAUSES ? [said] : clauses
}

/** Whether a text starts like a request or a question. */
export const beginsRequest = (text: string): boolean => isRequest(text, true) && !/^(?:what|how) about\b/i.test(text)

function isRequest(text: string, questions: boolean, verbs?: ReadonlySet<string>): boolean {
  const first = /^[\p{L}’']+/u.exec(text.replace(POLITE, ''))?.[0].toLowerCase().replace("'", '’') ?? ''
  return BEGINNINGS.has(first) || verbs?.has(first) || (questions && QUESTIONS.has(first))
}

/** Whether a position is inside quotes. */
function quoted(said: string, at: number): boolean {
  const before = said.slice(0, at)
  const doubles = (before.match(/"/g) ?? []).length % 2 === 1
  const singles = (before.match(/(?<![\p{L}\p{N}])'|'(?![\p{L}\p{N}])/gu) ?? []).length % 2 === 1
  return doubles || singles || before.lastIndexOf('“') > before.lastIndexOf('”')
}

const MAX_NAMED = 8
const MAX_PURPOSE_LENGTH = 100

/** The model's description of itself and its tools. */
export function about(tools: readonly OfferedTool[], id: string): string {
  return `I am ${id}, a small model that calls tools; I am not a language model. ${offered(tools)}`
}

const MAX_TRIED = 3

/** The answer if no tool is meant, with what some of the tools do. */
export function noTool(tools: readonly OfferedTool[], id: string): string {
  const purposes = tools.map(purposeOf).filter((purpose) => purpose !== '')
  if (purposes.length === 0) return about(tools, id)
  const tried = purposes.slice(0, MAX_TRIED).map((purpose) => purpose.charAt(0).toLowerCase() + purpose.slice(1))
  return `I couldn't match that to a tool. Try: ${tried.join('; ')}. Or ask "what can you do?".`
}

function offered(tools: readonly OfferedTool[]): string {
  if (tools.length === 0) return 'No tools are offered to me here. Configure a language model for anything else.'
  const named = tools.slice(0, MAX_NAMED).map((tool) => `- ${wordsOfName(tool.name)}${whatFor(tool)}`)
  const more = tools.length > MAX_NAMED ? `\n- and ${tools.length - MAX_NAMED} more` : ''
  return `Here I can use:\n\n${named.join('\n')}${more}\n\nSay it in a sentence, with the names, places and numbers that it needs. For anything else configure a language model.`
}

/** The start of its description, or its operations. */
function whatFor({ description, parameters }: OfferedTool): string {
  const first = purposeOf({ description })
  const operations = operationsOf(readParameters(parameters)).map(({ option }) => option)
  const does = operations.length > 0 ? ` (${operations.join(', ')})` : ''
  return first === '' ? does : `: ${first}${does}`
}

const purposeOf = ({ description }: Pick<OfferedTool, 'description'>): string =>
  cut(description.split(/[.:;](?=\s|$)|\n/, 1)[0]?.trim() ?? '', MAX_PURPOSE_LENGTH)

type ToolMessage = Extract<Message, { role: 'tool' }>

const MAX_VALUE_LENGTH = 300
const MAX_VALUES = 12
const UNITS: readonly (readonly [RegExp, string])[] = [
  [/humidity|percent|pct$|battery|brightness|probability_of|chance/i, '%'],
  [/_ms$|milliseconds/i, ' ms'],
  [/_km$|kilomet/i, ' km'],
  [/_kg$/i, ' kg'],
  [/_seconds?$|_s$/i, ' s'],
]

/** The calls, their tools, and the words that led to them. */
interface Asked {
  readonly calls: readonly ToolCall[]
  readonly tools: readonly OfferedTool[]
  readonly said: string
}

/** Sentences from results: values with their names, errors unchanged. */
export function sayResults(results: readonly ToolMessage[], asked: Asked): string {
  return results.map((result) => sayResult(result, asked)).join(' ')
}

function sayResult({ name, content, tool_call_id }: ToolMessage, { calls, tools, said }: Asked): string {
  const envelope = parse(content)
  if (envelope?.success === false) return `Sorry, the tool ${name} failed: ${envelope.error}`
  const result = envelope !== undefined && 'result' in envelope ? envelope.result : (envelope ?? content)
  const params = parse(calls.find(({ id }) => id === tool_call_id)?.function.arguments ?? '') ?? {}
  const sum = arithmeticIn(said)
  if (isValues(result)) {
    if (Array.isArray(result.results)) return sayPassages(result.results, params)
    const reading = sayReading(result)
    if (reading !== undefined) return reading
    const { date, time, weekday, timezone } = result
    if (date !== undefined && time !== undefined && weekday !== undefined) {
      return `It is ${weekday}, ${date}, ${time}${timezone ? ` (${timezone})` : ''}.`
    }
    if (isQuantity(result)) return `${span(result)}: ${rounded(result.value)} ${counted(result)}.`
    const { formatted } = result
    if (typeof formatted === 'string') return `${opening(name, params)}${sayFormatted(formatted, result)}.`
    const [[only, value] = [], ...others] = Object.entries(result)
    if (only !== undefined && others.length === 0 && sameValues(value, params))
      return `${shown(Object.values(params)[0])}`
    if (only === 'result' && others.length === 0 && !isValues(value)) {
      if (sum !== undefined && params.expression === sum.expression)
        return `${sum.phrase} is ${amount(value, sum.currency)}.`
      return `${doneWith(params) || subjectOf(params) || sentenceCase(wordsOfName(name))}: ${shown(value)}.`
    }
    const units = { ...defaultUnits(name, tools), ...params }
    return sayWeather(result, units) ?? `${opening(name, params)}${sayValues(result, units)}.`
  }
  if (typeof result === 'string' && isSentence(result)) return cut(result)
  return `${opening(name, params)}${shown(result)}.`
}

/** 32, not 32.00000000000002; money with cents. */
function amount(value: unknown, currency: string): string {
  if (typeof value !== 'number') return `${currency}${value}`
  return currency + (currency !== '' && !Number.isInteger(value) ? value.toFixed(2) : Number(value.toPrecision(12)))
}

/** "It's 22 °C and sunny in Cairo.", with the other values after it. */
function sayWeather({ temperature, condition, ...others }: Params, params: Params): string | undefined {
  if (typeof temperature !== 'number' || typeof condition !== 'string') return undefined
  const place = subjectOf(params)
  const more = Object.keys(others).length > 0 ? `, ${sayValues(others, params)}` : ''
  return `It's ${temperature}${unitOf('temperature', params) || '°'} and ${condition}${place && ` in ${place}`}${more}.`
}

/** The result of a text tool: a summary, an intent or entities. */
function sayReading({ summary, intent, confidence, entities }: Params): string | undefined {
  if (typeof summary === 'string' && summary !== '') return summary
  if (typeof intent === 'string' && typeof confidence === 'number')
    return `Intent: ${wordsOfName(intent)} (${Math.round(confidence * 100)}% sure).`
  if (!isValues(entities)) return undefined
  const named = Object.entries(entities).map(([type, names]) => `${wordsOfName(type)}: ${shown(names)}`)
  return `${sentenceCase(named.join('; '))}.`
}

/** A result that is a quantity: 39 days, with start and end. */
interface Quantity extends Params {
  readonly value: number
  readonly unit: string
}

const isQuantity = (result: Params): result is Quantity =>
  typeof result.value === 'number' && typeof result.unit === 'string'

const rounded = (value: number): string => String(Number(Math.abs(value).toFixed(value % 1 === 0 ? 0 : 1)))
const counted = ({ value, unit }: Quantity): string => (rounded(value) === '1' ? unit.replace(/s$/, '') : unit)

function span({ from, to, value }: Quantity): string {
  if (typeof from !== 'string' || typeof to !== 'string') return 'In all'
  const [first, last] = value < 0 ? [to, from] : [from, to]
  return `From ${first.slice(0, 10)} to ${last.slice(0, 10)}`
}

/** A date in the requested format, with its weekday if it isn't included. */
function sayFormatted(formatted: string, { weekday }: Params): string {
  const plain = formatted.replace(/T00:00:00\.000(?:Z|[+-]\d\d:\d\d)$/, '')
  return typeof weekday === 'string' && !plain.includes(weekday) ? `${plain}, ${weekday}` : plain
}

/** Describes an operation: "reverse of hello", "count of r in strawberry". */
function doneWith({ operation, text, search }: Params): string {
  if (typeof operation !== 'string' || typeof text !== 'string') return ''
  const piece = typeof search === 'string' ? `${search} in ` : ''
  return sentenceCase(`${operation} of ${piece}${cut(text)}`)
}

/** Whether a tool returned its input. */
const sameValues = (value: unknown, params: Params): boolean =>
  isValues(value) && Object.keys(params).length === 1 && JSON.stringify(value) === JSON.stringify(params)

/** Results that are sentences need no introduction. */
function isSentence(text: string): boolean {
  const said = text.trim()
  return /[.!?]$/.test(said.slice(-1)) && /\s\S/.test(said.slice(0, -1))
}

const opening = (name: string, params: Params): string => `${subjectOf(params) || sentenceCase(wordsOfName(name))}: `

/** The subject of a call: its text parameters. */
function subjectOf(params: Params): string {
  const texts = Object.entries(params).flatMap(([name, value]) =>
    (typeof value === 'string' || typeof value === 'number') && !/^units?$|^format$|^operation$/.test(name)
      ? [shown(value)]
      : [],
  )
  return texts.slice(0, 3).join(', ')
}

/** The default units of a tool. */
function defaultUnits(name: string, tools: readonly OfferedTool[]): Params {
  const tool = tools.find((one) => one.name === name)
  const units = tool && readParameters(tool.parameters).find((parameter) => /^units?$/.test(parameter.name))
  return units?.fallback === undefined ? {} : { [units.name]: units.fallback }
}

function sayValues(values: Params, params: Params): string {
  const entries = Object.entries(values)
  const said = entries.slice(0, MAX_VALUES).map(([name, value]) => {
    const unit = typeof value === 'number' ? unitOf(name, params) : ''
    return `${wordsOfName(name)} ${shown(value)}${unit}`
  })
  return `${said.join(', ')}${entries.length > MAX_VALUES ? ` and ${entries.length - MAX_VALUES} more` : ''}`
}

function unitOf(name: string, { units, unit }: Params): string {
  if (/temperature|feels_like|^temp$/i.test(name)) {
    const asked = String(units ?? unit ?? '')
    if (/^(?:f|fahrenheit|imperial)$/i.test(asked)) return ' °F'
    return /^(?:c|celsius|metric)$/i.test(asked) ? ' °C' : ''
  }
  return UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? ''
}

function sayPassages(results: readonly unknown[], { query }: Params): string {
  const wanted = query === undefined ? 'that' : `"${query}"`
  if (results.length === 0) return `I found nothing about ${wanted}.`
  const passages = results.filter(isValues)
  const sources = [...new Set(passages.flatMap(({ source }) => (typeof source === 'string' ? [source] : [])))]
  const where = sources.length > 0 ? `, in ${sources.join(', ')}` : ''
  const count = results.length === 1 ? '1 passage' : `${results.length} passages`
  return `About ${wanted} I found ${count}${where}. ${bestPassage(passages) ?? shown(results)}`
}

const [MAX_PASSAGE, LEAST_PROSE] = [2_000, 40]
/** A passage may begin within a sentence. */
const REST = /^\p{Ll}[^.!?]{0,200}[.!?] (?=\p{Lu}|\d)/u
const LINK = /!?\[([^[\]]{0,200})\]\([^()]{0,500}\)/g

/** The first passage with prose, without headings, tables, code and lists of links. */
function bestPassage(passages: readonly Params[]): string | undefined {
  const texts = passages.flatMap(({ text, source }) => (typeof text === 'string' ? [{ text, source }] : []))
  const prose = texts.map(({ text }) => proseOf(text))
  const at = prose.findIndex((text) => text.length >= LEAST_PROSE)
  const best = texts[Math.max(at, 0)]
  if (best === undefined) return undefined
  const said = prose[at] ?? best.text.slice(0, MAX_PASSAGE).replaceAll(/\s+/g, ' ')
  return `The best${typeof best.source === 'string' ? `, from ${best.source}` : ''}: ${cut(said)}`
}

function proseOf(text: string): string {
  const outside = text.slice(0, MAX_PASSAGE).split('```')
  const lines = outside
    .flatMap((part, at) => (at % 2 === 0 ? part.split('\n') : []))
    .filter((line) => !/^ {0,3}(?:#|\||<!--)/.test(line) && !isLinks(line))
  return lines
    .join(' ')
    .replaceAll(LINK, '$1')
    .replaceAll(/\*\*|`/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(REST, '')
}

/** Whether links are most of a line. */
const isLinks = (line: string): boolean =>
  line.includes('](') && line.replaceAll(LINK, '').trim().length < line.trim().length / 2

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (value === true || value === '') return value === true ? 'yes' : 'nothing'
  if (value === false) return 'no'
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object'))
    return cut(value.map(shown).join(', ') || 'nothing')
  return cut(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

/** Ends after a whole word, if there is one. */
const cut = (text: string, max = MAX_VALUE_LENGTH): string =>
  text.length > max ? `${/^.*\S(?=\s)/s.exec(text.slice(0, max + 1))?.[0] ?? text.slice(0, max)}…` : text
const sentenceCase = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
const isValues = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parse(text: string): Params | undefined {
  try {
    const value: unknown = JSON.parse(text)
    // Throws if the value is nested too deeply to be shown.
    JSON.stringify(value)
    return isValues(value) ? value : undefined
  } catch {
    return undefined
  }
}
