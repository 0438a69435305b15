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
  // Without a prototype, which a parameter called `__proto__` would replace.
  const params: Record<string, unknown> = Object.create(null)
  const scores = new Map<string, number>()
  const places: Place[] = []
  const put = (name: string, value: unknown, score: number = NAMED_SCORE): void => {
    if (value === undefined) return
    params[name] = value
    scores.set(name, score)
  }
  for (const parameter of parameters.filter(({ kind }) => kind === 'option' || kind === 'boolean')) {
    await takeTurns()
    const choice = chooseOption(parameter, readingOf(parameter), said)
    put(parameter.name, choice?.value, choice?.score)
  }
  const pieces = parameters.filter(({ kind }) => !['option', 'boolean', 'object'].includes(kind))
  const spans = pieces.map((parameter) => readingOf(parameter).span)
  const assigned = await assignSpans(pieces, spans, said, now)
  for (const parameter of pieces) {
    await takeTurns()
    const candidate = assigned.get(parameter)
    if (candidate !== undefined) places.push(candidate)
    const named = namedValue(parameter, readingOf(parameter), said)
    if (named !== undefined) put(parameter.name, named)
    else if (candidate !== undefined)
      put(parameter.name, makeValue(parameter, candidate, readingOf(parameter).span, said), candidate.score)
  }
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
  const several = saidOptions(all, said).map(({ value }) => value)
  if (several.length > 0) return several
  const best = Math.max(...options)
  return best > none ? [all[options.indexOf(best)]] : undefined
}

/** The option that was meant: the only one that the message names, else the one that the model chose. */
function chooseOption(
  { kind, options: own, required }: Parameter,
  { options, none }: ParameterReading,
  said: string,
): { readonly value: unknown; readonly score: number } | undefined {
  const [named, ...others] = kind === 'boolean' ? [] : saidOptions(own, said)
  if (named !== undefined && others.length === 0) return { value: named.value, score: NAMED_SCORE }
  const best = Math.max(...options)
  const value = (kind === 'boolean' ? [true, false] : own)[Math.max(0, options.indexOf(best))]
  const score = Math.max(-NAMED_SCORE, Math.min(NAMED_SCORE, best - none))
  return score > 0 || required ? { value, score } : undefined
}

/** The options that a message names, in its order. */
export function saidOptions(options: readonly unknown[], said: string): Named[] {
  return options
    .flatMap((value) => {
      const names = [String(value), ...longNames(String(value))].filter((name) => name.length > 1 && says(said, name))
      return names.slice(0, 1).map((name) => ({ value, ...placeOf(name, said) }))
    })
    .sort((left, right) => left.from - right.from)
}

interface Named extends Place {
  readonly value: unknown
}

function placeOf(name: string, said: string): Place {
  const loose = name.replaceAll(/[^\p{L}\p{N}]+/gu, '[^\\p{L}\\p{N}]+')
  const found = new RegExp(`(?<!\\p{L})${loose}`, 'iu').exec(said)
  return { from: found?.index ?? 0, to: found === null ? 0 : found.index + found[0].length }
}

/** "Monday" for "mon". */
const WEEKDAYS = Array.from({ length: 7 }, (_, day) =>
  new Date(2026, 0, 4 + day).toLocaleDateString('en', { weekday: 'long' }),
)
const longNames = (option: string): string[] =>
  option.length === 3 ? WEEKDAYS.filter((day) => day.toLowerCase().startsWith(option.toLowerCase())) : []
