import type { OfferedTool } from '../../model.ts'
import { gistOf } from '../engine/in-windows.ts'
import type { PairScorer } from '../engine/pair-scorer.ts'
import type { Parameter } from '../fill/parameter.ts'
import { readParameters } from '../fill/parameter.ts'
import { typedValues } from '../fill/typed-candidates.ts'
import { logit } from '../logit.ts'
import { toolText } from '../pair-texts.ts'
import { takeTurns } from '../take-turns.ts'
import { lettersIn, takesLetter } from '../values/letters.ts'
import { type Operation, operationsOf } from './operations.ts'
import type { RankedTool } from './rank-tools.ts'
import { type SharedWord, sharedWords } from './shared-words.ts'

/** A tool for one of the things that it does, and how likely that is meant. */
export interface RankedUse {
  readonly tool: OfferedTool
  readonly operation: Operation
  /** From 0 to 1. */
  readonly relevance: number
  /** What in the sentence speaks for it. */
  readonly words: readonly SharedWord[]
}

interface Asking {
  readonly scorer: PairScorer
  readonly now: Date
  readonly signal?: AbortSignal
}

/** A tool that does one thing, and is this likely, is not weighed against others. */
const SURE = 0.9
/** How much counts, beside how likely an operation is by itself: the tool, a word that it shares, a value that fits or not. */
const WEIGHT_OF_TOOL = 0.5
const WORD = 1
const FITS = 3
const MOST_LOGIT = 7
/** What is further behind the likeliest is no second choice. */
const NEAR = 4
/** What is less likely by itself has to be spoken for by a word or a value. */
const LEAST_OWN = 0.5

/** The operations that may be meant, the likeliest first: a tool that does several things is looked at as each of them. */
export async function rankUses(ranked: readonly RankedTool[], said: string, asking: Asking): Promise<RankedUse[]> {
  const several: (RankedTool & { readonly operation: Operation })[] = []
  for (const one of ranked) {
    for (const operation of operationsOf(readParameters(one.tool.parameters))) {
      if (await isPossible(operation, said, asking.now)) several.push({ ...one, operation })
    }
  }
  const [first] = ranked
  if (several.length === 0 || first === undefined) return []
  if (first.relevance >= SURE && !several.some(({ tool }) => tool === first.tool)) return []
  const pairs = several.map(({ operation: { option, description, parameters } }) => ({
    meant: toolText(
      option,
      description,
      parameters.map(({ name }) => name),
    ),
    said: gistOf(said),
  }))
  const scores = await asking.scorer.score(pairs, asking.signal)
  const weighed: { readonly weight: number; readonly use: RankedUse }[] = []
  for (const [index, { tool, relevance, operation }] of several.entries()) {
    const own = scores[index]?.relevance ?? 0
    const words = sharedWords(`${operation.option}, ${operation.description}`, said)
    const typed = await fits(operation, tool, said, asking.now)
    if (own < LEAST_OWN && words.length === 0 && typed <= 0) continue
    const likely = Math.max(relevance, share(bounded(own) + Math.max(0, typed)))
    const weight = bounded(own) + WEIGHT_OF_TOOL * bounded(relevance) + WORD * words.length + typed
    weighed.push({ weight, use: { tool, operation, relevance: likely, words } })
  }
  const best = Math.max(...weighed.map(({ weight }) => weight))
  return weighed
    .filter(({ weight }) => weight > best - NEAR)
    .sort((left, right) => right.weight - left.weight)
    .map(({ use }) => use)
}

/** What can only be done with a date is not meant where none is said. */
async function isPossible({ parameters, standIns }: Operation, said: string, now: Date): Promise<boolean> {
  const open = parameters.filter(({ name }) => name in standIns)
  return open.length === 0 || (await withValues(open, said, now)).length > 0
}

/** Those of the parameters that a value of their type was said for. */
async function withValues(parameters: readonly Parameter[], said: string, now: Date): Promise<Parameter[]> {
  const found: Parameter[] = []
  for (const parameter of parameters) {
    await takeTurns()
    if (typed(parameter, said, now) > 0) found.push(parameter)
  }
  return found
}

/** Values that are known by what they are speak for what takes them, and against what does not. */
async function fits(
  { parameters }: Operation,
  { parameters: schema }: OfferedTool,
  said: string,
  now: Date,
): Promise<number> {
  const taken = (parameter: Parameter): boolean => parameters.some(({ name }) => name === parameter.name)
  const found = await withValues(readParameters(schema), said, now)
  const own = found.filter(taken)
  if (own.length > 0) return FITS
  return found.length > 0 ? -FITS : 0
}

function typed(parameter: Parameter, said: string, now: Date): number {
  if (takesLetter(parameter)) return lettersIn(said).length
  const { type, values = [] } = typedValues(parameter, said, now) ?? {}
  // What is said in any time zone, and of today, says nothing.
  return type === 'zone'
    ? 0
    : values.filter(({ from, to }) => !/^(?:today|now|right now|tonight)\b/i.test(said.slice(from, to))).length
}

/** Within bounds, so that nothing else is outweighed. */
const bounded = (share: number): number => Math.max(-MOST_LOGIT, Math.min(MOST_LOGIT, logit(share)))
const share = (sum: number): number => 1 / (1 + Math.exp(-sum))
