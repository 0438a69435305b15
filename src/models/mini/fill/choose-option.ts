import { describedBoolean, namesBoolean, negates, saidBoolean } from '../values/booleans.ts'
import { type SaidOption, saidOptions } from '../values/option-words.ts'
import type { Parameter } from './parameter.ts'

/** What is taken where nothing names it. */
const SURE = 0.5

/** A choice, and where in what was said it stands. */
export interface Choice {
  readonly value: unknown
  readonly from: number
  readonly to: number
  /** Above 0: rather this than nothing. */
  readonly score: number
}

/** What was said by name is as good as found. */
const NAMED_SCORE = 6

/** What a choice can be. */
export const optionsOf = ({ kind, options }: Parameter): readonly unknown[] =>
  kind === 'boolean' ? [true, false] : options

/** The option that was meant: one that was named goes before what the model thinks. */
export function chooseOption(parameter: Parameter, relevance: readonly number[], said: string): Choice | undefined {
  if (parameter.kind === 'option') return chooseOne(parameter, relevance, said)
  const value = chooseBoolean(parameter, relevance, said)
  return value === undefined ? undefined : { value, from: -1, to: -1, score: scoreOf(Math.max(...relevance)) }
}

/** The options of a list that were said, in the order in which they were. */
export function chooseSeveral(options: readonly unknown[], said: string): unknown[] {
  const single = (index: number): boolean => !/[\s_-]/.test(String(options[index]))
  const all = saidOptions(options, said).filter(
    ({ evidence, index }) => evidence > 1 || (evidence > 0 && single(index)),
  )
  return all.sort((left, right) => left.from - right.from).map(({ index }) => options[index])
}

function chooseBoolean(parameter: Parameter, relevance: readonly number[], said: string): boolean | undefined {
  const { name, description, required, fallback } = parameter
  const [yes = 0, no = 0] = relevance
  const named = saidBoolean(name, said) ?? describedBoolean(description, said)
  if (named !== undefined) return named
  if (yes > SURE && yes >= no && (required || namesBoolean(name, description, said))) return true
  if (no > SURE && negates(said) && (required || namesBoolean(name, description, said))) return false
  if (!required) return undefined
  return typeof fallback === 'boolean' ? fallback : yes >= no
}

function chooseOne(parameter: Parameter, relevance: readonly number[], said: string): Choice | undefined {
  const { options, required, fallback } = parameter
  const all = saidOptions(options, said)
  const most = Math.max(...all.map(({ evidence }) => evidence))
  const score = ({ index }: SaidOption): number => relevance[index] as number
  const among = most > 0 ? all.filter(({ evidence }) => evidence === most) : all
  const best = among.reduce((left, right) => (score(right) > score(left) ? right : left))
  const sure = most > 0 ? NAMED_SCORE : scoreOf(score(best))
  const choice = { value: options[best.index], from: best.from, to: best.to, score: sure }
  if (most > 1 || (most > 0 && (required || among.length === 1))) return choice
  // What the tool takes by itself is not guessed at.
  if (score(best) > SURE && (required || fallback === undefined)) return choice
  if (!required) return undefined
  return options.includes(fallback) ? { ...choice, value: fallback } : choice
}

/** How sure the model is, on the scale of pieces of text. */
const scoreOf = (relevance: number): number =>
  Math.max(-NAMED_SCORE, Math.min(NAMED_SCORE, Math.log(Math.max(relevance, 1e-6) / Math.max(1 - relevance, 1e-6))))
