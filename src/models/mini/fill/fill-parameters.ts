import type { Params } from '../../../core/tool.ts'
import type { Pair, PairScorer } from '../engine/pair-scorer.ts'
import { optionText, valueText } from '../pair-texts.ts'
import { takeTurns } from '../take-turns.ts'
import { describedOptions, mentioned } from '../values/described-options.ts'
import { takesWholeText, wholeText } from '../values/whole-text.ts'
import { writtenObject } from '../values/written-object.ts'
import { assignSpans } from './assign-spans.ts'
import type { Candidate } from './candidates.ts'
import { type Choice, chooseOption, chooseSeveral, optionsOf } from './choose-option.ts'
import { makeValue, wordedNumber } from './make-value.ts'
import type { Parameter } from './parameter.ts'
import { type Piece, restOf, trimmed } from './rest-of.ts'

/** What finding values needs. */
export interface Filling {
  readonly scorer: PairScorer
  readonly now: Date
  readonly signal?: AbortSignal
}

/** Values for a tool's parameters, and how well each was found: above 0 rather than not. */
export interface Filled {
  readonly params: Params
  readonly scores: ReadonlyMap<string, number>
}

/** What was said by name is as good as found. */
const NAMED_SCORE = 6
/** What a whole sentence counts as, where it is the value. */
const UNMARKED_SCORE = 0
/** A text that scores less is no better than the whole. */
const LEAST_OF_WHOLE = -2

/** Finds the values of a tool's parameters in what was said; `words` are those that only say what to do. */
export async function fillParameters(
  tool: string,
  parameters: readonly Parameter[],
  said: string,
  filling: Filling,
  words?: readonly Piece[],
): Promise<Filled> {
  const pieces = parameters.filter(({ kind }) => kind !== 'option' && kind !== 'boolean' && kind !== 'object')
  const choices = parameters.filter(({ kind }) => kind === 'option' || kind === 'boolean')
  const pairs: Pair[] = [
    ...pieces.map(({ name, description }) => valueText(name, description, tool)),
    ...choices.flatMap((one) => optionsOf(one).map((option) => optionText(one.name, one.description, option))),
  ].map((meant) => ({ meant, said }))
  const scores = await filling.scorer.score(pairs, filling.signal)
  const params: Record<string, unknown> = {}
  const found = new Map<string, number>()
  const put = (name: string, value: unknown, score: number = NAMED_SCORE): void => {
    if (value === undefined) return
    params[name] = value
    found.set(name, score)
  }
  let at = pieces.length
  const chosen: Choice[] = []
  for (const parameter of choices) {
    await takeTurns()
    const count = optionsOf(parameter).length
    const relevance = scores.slice(at, at + count).map((score) => score.relevance)
    at += count
    const choice = chooseOption(parameter, relevance, said)
    put(parameter.name, choice?.value, choice?.score)
    if (choice !== undefined) chosen.push(choice)
  }
  const spans = await assignSpans(
    pieces,
    scores.map(({ span }) => span),
    said,
    filling.now,
    { chosen: [...chosen, ...(words ?? [])], sharing: words === undefined },
  )
  for (const parameter of pieces) {
    await takeTurns()
    const span = spans.get(parameter)
    const worded = wordedValue(parameter, span, said)
    const piece = span && withoutWords(span, said, words)
    if (worded !== undefined) put(parameter.name, worded)
    else if (isWhole(parameter, span)) put(parameter.name, wholeOf(parameter, pieces, said, words), UNMARKED_SCORE)
    else if (span !== undefined && piece !== undefined)
      put(parameter.name, makeValue(parameter, piece, said), span.score)
  }
  // What a call cannot do without is not something else as well.
  const needed = pieces.filter(({ required, kind }) => required && kind === 'text').map(({ name }) => params[name])
  for (const { name, required, kind } of pieces)
    if (kind === 'text' && !required && name in params && needed.includes(params[name])) delete params[name]
  for (const parameter of parameters) {
    if (parameter.kind === 'object') put(parameter.name, await objectValue(tool, parameter, said, filling))
  }
  return { params, scores: found }
}

/** A piece without the words that only say what to do; undefined where it is nothing else. */
function withoutWords(span: Candidate, said: string, words: readonly Piece[] = []): Candidate | undefined {
  if (span.value !== undefined || words.length === 0 || /["'“‘]/.test(said[span.from - 1] ?? '')) return span
  const piece = trimmed(said, span, words)
  return piece && { ...span, ...piece }
}

/** All of a sentence, or what of it does not say what to do; that only where no other text is in it. */
function wholeOf(
  { description, name }: Parameter,
  pieces: readonly Parameter[],
  said: string,
  words: readonly Piece[] | undefined,
): string | undefined {
  if (words === undefined) return wholeText(description, said)
  const others = pieces.some((one) => one.required && one.kind === 'text' && one.name !== name)
  return others || words.length === 0 ? undefined : restOf(said, words)
}

/** Whether all of a sentence is the value, because the model found no part of it to be. */
function isWhole({ kind, required, name, description }: Parameter, span: Candidate | undefined): boolean {
  const unmarked = span === undefined || span.score < LEAST_OF_WHOLE
  return kind === 'text' && required && unmarked && span?.value === undefined && takesWholeText(name, description)
}

/** A value that is said by words of its own rather than as a piece of text. */
function wordedValue(parameter: Parameter, span: Candidate | undefined, said: string): unknown {
  if (parameter.kind === 'text') {
    const [only, ...others] = mentioned(describedOptions(parameter.description), said)
    return others.length === 0 ? only?.value : undefined
  }
  if (parameter.kind === 'list') {
    const { options = [] } = parameter.items ?? {}
    const several = chooseSeveral(options, said)
    return several.length > 0 ? several : undefined
  }
  return (span?.score ?? 0) <= 0 ? wordedNumber(parameter, said) : undefined
}

/** An object that is written out, else one whose members are found one by one. */
async function objectValue(tool: string, parameter: Parameter, said: string, filling: Filling): Promise<unknown> {
  const written = writtenObject(said)
  if (written !== undefined) return written
  if (parameter.members.length === 0) return undefined
  const { params, scores } = await fillParameters(`${parameter.name} of ${tool}`, parameter.members, said, filling)
  const whole = parameter.members.every(({ name, required }) => !required || name in params)
  const any = [...scores.values()].some((score) => score > 0)
  return whole && (any || (parameter.required && scores.size > 0)) ? params : undefined
}
