import type { Params } from '../base/port.ts'
import { takeTurns } from '../base/take-turns.ts'
import type { ParameterReading } from '../engine/tool-reader.ts'
import { listedValues, placesOf } from '../values/described-options.ts'
import { numbersIn } from '../values/numbers-in.ts'
import { type Quote, quotesIn, typedValues, wholeSpan } from './assign-spans.ts'
import { type Place, saidOptions } from './fill-parameters.ts'
import { makeValue, markedPieces, plainText } from './make-value.ts'
import type { Parameter } from './parameter.ts'
import type { ToolReading } from './read-tool.ts'

/** A value for a parameter, and its place in the message. */
interface Given extends Place {
  readonly value: unknown
}

/** What stands between the values of two calls: "Rome and Athens", "Nina Simone for 20 minutes, then Fela Kuti". */
const BETWEEN = /[,;&.?!]|\b(?:and|or|vs|versus|plus|also|then)\b/i
/** What stands before the last value. */
const LAST_BETWEEN = /[;&.?!]|\b(?:and|or|vs|versus|plus|also|then)\b/i
const EXCEPT = /\b(?:but|not|except|than|instead)\b/i
const MAX_WORDS = 4

/** The calls that a message asks of a tool: one for each of several values, with the other values that belong to it. Another call has the pieces in `taken`. */
export async function severalCalls(
  params: Params,
  parameters: readonly Parameter[],
  reading: ToolReading,
  said: string,
  now: Date,
  taken: readonly Place[] = [],
): Promise<Params[]> {
  const quotes = quotesIn(said)
  const isFree = (one: Place): boolean => !taken.some(({ from, to }) => from < one.to && one.from < to)
  const given = new Map<string, readonly Given[]>()
  for (const parameter of parameters) {
    await takeTurns()
    const own = reading.parameters.get(parameter.name)
    if (own !== undefined && Object.hasOwn(params, parameter.name))
      given.set(parameter.name, givenTo(parameter, own, said, now, quotes).filter(isFree))
  }
  const counts = [...given.values()]
    .filter((values) => areSeveral(values, said))
    .map((values) => distinct(values).length)
  const count = Math.max(1, ...counts)
  if (count < 2) return [params]
  const calls = Array.from({ length: count }, (): Params => ({ ...params }))
  for (const [name, values] of given) {
    const each = values.length === count ? values : distinct(values)
    if (each.length === 0) continue
    if (each.length > 1 && each.length !== count) return [params]
    for (const [at, call] of calls.entries()) call[name] = (each[at] ?? each[0])?.value
  }
  return calls
}

const distinct = (values: readonly Given[]): readonly Given[] =>
  values.filter(({ value }, at) => values.findIndex((one) => one.value === value) === at)

function areSeveral(values: readonly Given[], said: string): boolean {
  const gaps = values.slice(1).map(({ from }, at) => said.slice(values[at]?.to, from))
  const short = values.every(({ value }) => typeof value !== 'string' || value.split(' ').length <= MAX_WORDS)
  return short && gaps.every((gap) => BETWEEN.test(gap) && !EXCEPT.test(gap)) && LAST_BETWEEN.test(gaps.at(-1) ?? '')
}

/** All values that the message has for a parameter: the pieces that the model marked, by their type. */
function givenTo(
  parameter: Parameter,
  { span }: ParameterReading,
  said: string,
  now: Date,
  quotes: readonly Quote[],
): readonly Given[] {
  const { kind, description, options } = parameter
  if (kind === 'option') return saidOptions(options, said)
  if (kind !== 'text' && kind !== 'number' && kind !== 'integer') return []
  const listed = listedValues(description)
  if (listed.length > 1) return placesOf(listed, said)
  const marked = markedPieces(span, said).flatMap((piece) => wholeSpan({ score: 0, ...piece }, said, quotes) ?? [])
  const typed =
    kind === 'text' ? typedValues(parameter, said, now)?.values : numbersIn(said).map(({ from, to }) => ({ from, to }))
  const pieces =
    typed?.filter(({ from, to }) => marked.some((one) => one.from < to && from < one.to)) ??
    marked.flatMap((piece) => namesIn(piece, said))
  return pieces.flatMap((piece) => {
    const value = makeValue(parameter, { score: 0, ...piece }, span, said)
    return value === undefined ? [] : [{ from: piece.from, to: piece.to, value }]
  })
}

/** Names that hold an "and". */
const ONE_NAME = /bosnia and|trinidad and|antigua and|saint kitts and|são tomé and|turks and|tyne and/i

/** "Rome and Athens" are two names; so are "Rome, Athens" before "and Cairo". */
function namesIn({ from, to }: Place, said: string): readonly Place[] {
  const text = said.slice(from, to)
  const names = text.split(/,? (?:and|&|or) |, (?!\p{Lu}{2}\b)/u)
  const listed = / (?:and|&|or) /.test(text) || /^,? (?:and|&|or) /.test(said.slice(to))
  const several = listed && !ONE_NAME.test(text) && names.every((one) => /^\p{Lu}|\d/u.test(plainText(one)))
  return several ? placesOf(names, text).map((one) => ({ from: from + one.from, to: from + one.to })) : [{ from, to }]
}
