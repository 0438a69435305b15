import type { Params, SchemaCheck, SearchTools } from '../base/port.ts'
import { takeTurns } from '../base/take-turns.ts'
import type { ParameterReading, ToolReader } from '../engine/tool-reader.ts'
import { describedOptions, mentioned, says } from '../values/described-options.ts'
import { assignSpans } from './assign-spans.ts'
import { makeValue } from './make-value.ts'
import type { Parameter } from './parameter.ts'
import type { ToolReading } from './read-tool.ts'

/** What answering a message needs. */
export interface Filling {
  readonly reader: ToolReader
  readonly now: Date
  readonly check: SchemaCheck
  readonly search: SearchTools
  readonly signal?: AbortSignal
}

/** Values for a tool's parameters, and how well each was found: above 0 if it is more likely than no value. */
interface Filled {
  readonly params: Params
  readonly scores: ReadonlyMap<string, number>
  /** The pieces of the message that the values were made of. */
  readonly places: readonly Place[]
}

export interface Place {
  readonly from: number
  readonly to: number
}

/** The score of a value that the message names. */
const NAMED_SCORE = 6

const UNREAD: ParameterReading = {
  span: { from: [], to: [], start: [], end: [], inside: [], absent: 0 },
  mentioned: 0,
  options: [],
  none: 0,
}

/** Finds the values of parameters in a message; `prefix` is the path of the object whose members they are. */
export async function fillParameters(
  reading: ToolReading,
  parameters: readonly Parameter[],
  said: string,
  now: Date,
  prefix = '',
): Promise<Filled> {
  const readingOf = ({ name }: Parameter): ParameterReading => reading.parameters.get(prefix + name) ?? UNREAD
  const params: Record<string, unknown> = {}
  const scores = new Map<string, number>()
  const places: Place[] = []
  const put = (name: string, value: unknown, score: number = NAMED_SCORE): void => {
    if (value === undefined) return
    params[name] = value
    scores.set(name, score)
  }
  const chosen: Choice[] = []
  for (const parameter of parameters.filter(({ kind }) => kind === 'option' || kind === 'boolean')) {
    await takeTurns()
    const choice = chooseOption(parameter, readingOf(parameter), said)
    put(parameter.name, choice?.value, choice?.score)
    if (choice !== undefined) chosen.push(choice)
  }
  const pieces = parameters.filter(({ kind }) => !['option', 'boolean', 'object'].includes(kind))
  const spans = pieces.map((parameter) => readingOf(parameter).span)
  const assigned = await assignSpans(pieces, spans, said, now, chosen)
  for (const parameter of pieces) {
    await takeTurns()
    const candidate = assigned.get(parameter)
    if (candidate !== undefined) places.push(candidate)
    const named = namedValue(parameter, readingOf(parameter), said)
    if (named !== undefined) put(parameter.name, named)
    else if (candidate !== undefined)
      put(parameter.name, makeValue(parameter, candidate, readingOf(parameter).span, said), candidate.score)
  }
  // The text of a required parameter isn't the value of an optional one as well.
  const needed = pieces.filter(({ required, kind }) => required && kind === 'text').map(({ name }) => params[name])
  for (const { name, required, kind } of pieces)
    if (kind === 'text' && !required && name in params && needed.includes(params[name])) delete params[name]
  for (const parameter of parameters.filter(({ kind, members }) => kind === 'object' && members.length > 0)) {
    const inner = await fillParameters(reading, parameter.members, said, now, `${prefix}${parameter.name}.`)
    const whole = parameter.members.every(({ name, required }) => !required || name in inner.params)
    const any = [...inner.scores.values()].some((score) => score > 0)
    if (whole && (any || (parameter.required && inner.scores.size > 0))) put(parameter.name, inner.params)
    places.push(...inner.places)
  }
  return { params, scores, places }
}

/** A value that the message names, from those that a description or a list of options offers. */
function namedValue(
  { kind, description, items }: Parameter,
  { options, none }: ParameterReading,
  said: string,
): unknown {
  if (kind === 'text') {
    const [only, ...others] = mentioned(describedOptions(description), said)
    return others.length === 0 ? only?.value : undefined
  }
  const all = items?.options ?? []
  if (kind !== 'list' || all.length === 0) return undefined
  const single = (index: number): boolean => !/[\s_-]/.test(String(all[index]))
  const several = saidOptions(all, said)
    .filter(({ evidence, index }) => evidence > 1 || (evidence > 0 && single(index)))
    .sort((left, right) => left.from - right.from)
    .map(({ index }) => all[index])
  if (several.length > 0) return several
  const best = Math.max(...options)
  return best > none ? [all[options.indexOf(best)]] : undefined
}

/** A choice, and the words that name it. */
interface Choice {
  readonly value: unknown
  readonly from: number
  readonly to: number
  readonly score: number
}

/** The option that was meant: one that the message names comes before what the model chose. */
function chooseOption(parameter: Parameter, reading: ParameterReading, said: string): Choice | undefined {
  const { kind, required, fallback } = parameter
  const options = kind === 'boolean' ? [true, false] : parameter.options
  const all = kind === 'boolean' ? options.map((_, index) => unsaid(index)) : saidOptions(options, said)
  const most = Math.max(...all.map(({ evidence }) => evidence))
  const score = ({ index }: SaidOption): number => (reading.options[index] ?? Number.NEGATIVE_INFINITY) - reading.none
  const among = most > 0 ? all.filter(({ evidence }) => evidence === most) : all
  const best = among.reduce((left, right) => (score(right) > score(left) ? right : left))
  const sure = most > 0 ? NAMED_SCORE : Math.max(-NAMED_SCORE, Math.min(NAMED_SCORE, score(best)))
  const choice = { value: options[best.index], from: best.from, to: best.to, score: sure }
  if (most > 1 || (most > 0 && (required || among.length === 1))) return choice
  if (score(best) > 0) return choice
  if (!required) return undefined
  return options.includes(fallback) ? { ...choice, value: fallback } : choice
}

const unsaid = (index: number): SaidOption => ({ index, evidence: 0, from: -1, to: -1 })

/** How plainly an option is said, and where. */
interface SaidOption {
  readonly index: number
  /** From 0, not at all, to 3, by its name. */
  readonly evidence: number
  readonly from: number
  readonly to: number
}

/** How plainly each option is said: by its name, by another word for it, or by a word that only it has. */
export function saidOptions(options: readonly unknown[], said: string): SaidOption[] {
  const words = options.map(wordsOf)
  return options.map((option, index) => {
    const name = String(option)
    if (name.length > 1 && says(said, name)) return found(index, 3, said, name)
    const other = synonymsOf(name).find((word) => says(said, word))
    if (other !== undefined) return found(index, 2.5, said, other)
    const own = (words[index] as string[]).filter(
      (word) => word.length > 1 && words.every((others, at) => at === index || !others.includes(word)),
    )
    const part = own.find((word) => [word, ...synonymsOf(word)].some((one) => saysStem(said, one)))
    return part === undefined ? { index, evidence: 0, from: -1, to: -1 } : found(index, 1, said, part)
  })
}

const EMPTY = new Set(
  'a an the of in at to for and or is it by with all any none no not set get last next first time date day type per'.split(
    ' ',
  ),
)

const wordsOf = (option: unknown): string[] =>
  String(option)
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !EMPTY.has(word))

/** In any form: "cooling" for cool, "locked" for lock. */
function saysStem(said: string, word: string): boolean {
  if (word.includes(' ') || word.length < 4) return says(said, word)
  const ending = word.replace(/(?:ing|ed|er|es|s|e|y)$/, '')
  const [start = ''] = /^[\p{L}\p{N}]*/u.exec(ending) ?? []
  // Most options are not said at all, and a pattern for each is expensive.
  if (!said.toLowerCase().includes(start.toLowerCase())) return false
  const stem = ending.replaceAll(/[^\p{L}\p{N}]/gu, '.')
  return new RegExp(`(?<!\\p{L})${stem}(?:ing|ed|er|es|s|e|y|ies|ly)?(?!\\p{L})`, 'iu').test(said)
}

function found(index: number, evidence: number, said: string, words: string): SaidOption {
  const loose = words
    .replace(/(?<=\p{L}{4})(?:ing|ed|es|s|e|y)$/u, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, '[^\\p{L}\\p{N}]+')
  const match = new RegExp(`(?<!\\p{L})${loose}`, 'iu').exec(said)
  return { index, evidence, from: match?.index ?? -1, to: match === null ? -1 : match.index + match[0].length }
}

/** Words that people use for one another where they choose between options. */
const GROUPS: readonly string[] = [
  'metric|celsius|centigrade|°c',
  'imperial|fahrenheit|°f',
  'c|celsius|centigrade',
  'f|fahrenheit',
  'k|kelvin',
  'walking|walk|on foot|by foot|pedestrian',
  'driving|drive|by car|car',
  'cycling|bicycling|bike|bicycle',
  'transit|public transport|public transit|bus|train|subway|metro',
  'create|add|new|insert',
  'add|create|insert',
  'remove|delete|erase|take off',
  'delete|remove|erase',
  'finish|complete|done|completed|finished|tick off',
  'complete|finish|done|completed|finished',
  'update|change|edit|modify',
  'asc|ascending|lowest first|oldest first|cheapest first',
  'desc|descending|highest first|newest first|latest first',
  'outdoor|outdoors|outside|terrace|patio',
  'indoor|indoors|inside',
  'comedy|funny|hilarious',
  'horror|scary',
  'science fiction|sci-fi|scifi|sci fi',
  'sci-fi|science fiction|scifi|sci fi',
  'critical|urgent|asap|emergency',
  'urgent|asap|emergency',
  'on|enable|activate|switch on|turn on',
  'off|disable|deactivate|switch off|turn off|turn of|switch of|shut off|kill|extinguish|out',
  'hard|difficult|challenging|tough',
  'easy|simple|gentle',
  'beginner|novice|newbie',
  'expert|advanced',
  'up|louder|raise|increase',
  'down|quieter|lower|decrease|softer',
  'hourly|1h|every hour|per hour',
  '1m|every minute|minutely|per minute',
  '1h|hourly|every hour|per hour',
  '1d|daily|every day|per day',
  'daily|every day|each day|per day',
  'weekly|every week|each week|per week',
  'monthly|every month|each month|per month',
  'yearly|annual|annually|every year|per year',
  'years|old|age',
  'one way|oneway|single',
  'round trip|return|roundtrip',
  'm|male|man|men',
  'f|female|woman|women',
  'male|man|men|boy',
  'female|woman|women|girl',
  'small|little|tiny',
  'large|big|huge',
  'o3|ozone',
  'no2|nitrogen dioxide',
  'co|carbon monoxide',
  'vegetarian|veggie',
  'mon|monday',
  'tue|tuesday',
  'wed|wednesday',
  'thu|thursday',
  'fri|friday',
  'sat|saturday',
  'sun|sunday',
]

const BY_OPTION = new Map<string, string[]>()
for (const group of GROUPS) {
  const [option = '', ...words] = group.split('|')
  BY_OPTION.set(option, [...(BY_OPTION.get(option) ?? []), ...words])
}

/** What people may say for an option besides its name. */
const synonymsOf = (option: string): readonly string[] =>
  BY_OPTION.get(option.toLowerCase().replaceAll(/[_-]+/g, ' ')) ?? []
