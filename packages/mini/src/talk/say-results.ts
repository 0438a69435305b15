import type { Message, OfferedTool, Params, ToolCall } from '../base/port.ts'
import { wordsOfName } from '../base/tool-text.ts'
import { readParameters } from '../fill/parameter.ts'
import { arithmeticIn } from '../values/arithmetic.ts'

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

/** What was asked for: the calls, the tools they are of, and the words that led to them. */
export interface Asked {
  readonly calls: readonly ToolCall[]
  readonly tools: readonly OfferedTool[]
  readonly said: string
}

/** Sentences from what tools gave: values with their names, failures as they are. */
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
      if (sum !== undefined && params.expression === sum.expression) return `${sum.phrase} is ${sum.currency}${value}.`
      return `${doneWith(params) || subjectOf(params) || sentenceCase(wordsOfName(name))}: ${shown(value)}.`
    }
    return `${opening(name, params)}${sayValues(result, { ...defaultUnits(name, tools), ...params })}.`
  }
  if (typeof result === 'string' && isSentence(result)) return cut(result)
  return `${opening(name, params)}${shown(result)}.`
}

/** A result that is a number of something: 39 days, from when to when. */
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

/** A date as it was wanted, and its day of the week where that does not show. */
function sayFormatted(formatted: string, { weekday }: Params): string {
  const plain = formatted.replace(/T00:00:00\.000(?:Z|[+-]\d\d:\d\d)$/, '')
  return typeof weekday === 'string' && !plain.includes(weekday) ? `${plain}, ${weekday}` : plain
}

/** What a tool that does several things did: "reverse of hello", "count of r in strawberry". */
function doneWith({ operation, text, search }: Params): string {
  if (typeof operation !== 'string' || typeof text !== 'string') return ''
  const piece = typeof search === 'string' ? `${search} in ` : ''
  return sentenceCase(`${operation} of ${piece}${cut(text)}`)
}

/** Whether a tool gave back what it got. */
const sameValues = (value: unknown, params: Params): boolean =>
  isValues(value) && Object.keys(params).length === 1 && JSON.stringify(value) === JSON.stringify(params)

/** Tools that speak themselves have said it already. */
function isSentence(text: string): boolean {
  const said = text.trim()
  return /[.!?]$/.test(said.slice(-1)) && /\s\S/.test(said.slice(0, -1))
}

const opening = (name: string, params: Params): string => `${subjectOf(params) || sentenceCase(wordsOfName(name))}: `

/** What the call was about: the texts that it was made with. */
function subjectOf(params: Params): string {
  const texts = Object.entries(params).flatMap(([name, value]) =>
    (typeof value === 'string' || typeof value === 'number') && !/^units?$|^format$|^operation$/.test(name)
      ? [shown(value)]
      : [],
  )
  return texts.slice(0, 3).join(', ')
}

/** The units that a tool takes where it is told none. */
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
  const best = passages.map(({ text }) => text).find((text) => typeof text === 'string')
  const where = sources.length > 0 ? `, in ${sources.join(', ')}` : ''
  const begins =
    typeof best === 'string' ? ` The best begins: ${best.replaceAll(/\s+/g, ' ').slice(0, 200)}` : ` ${shown(results)}`
  return `About ${wanted} I found ${results.length} passage(s)${where}.${begins}`
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (value === true || value === '') return value === true ? 'yes' : 'nothing'
  if (value === false) return 'no'
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object'))
    return cut(value.map(shown).join(', ') || 'nothing')
  return cut(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

const cut = (text: string): string => (text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text)
const sentenceCase = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
const isValues = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parse(text: string): Params | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isValues(value) ? value : undefined
  } catch {
    return undefined
  }
}
