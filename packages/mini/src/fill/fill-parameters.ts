import type { Params, SchemaCheck } from '../base/port.ts'
import { takeTurns } from '../base/take-turns.ts'
import type { ParameterReading, ToolReader } from '../engine/tool-reader.ts'
import { describedOptions, mentioned } from '../values/described-options.ts'
import { type SaidOption, saidOptions } from '../values/option-words.ts'
import { assignSpans } from './assign-spans.ts'
import { makeValue } from './make-value.ts'
import type { Parameter } from './parameter.ts'
import type { ToolReading } from './read-tool.ts'

/** What answering a message needs. */
export interface Filling {
  readonly reader: ToolReader
  readonly now: Date
  readonly check: SchemaCheck
  readonly signal?: AbortSignal
}

/** Values for a tool's parameters, and how well each was found: above 0 if it is more likely than no value. */
export interface Filled {
  readonly params: Params
  readonly scores: ReadonlyMap<string, number>
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
  }
  return { params, scores }
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
