import { negates, saidBoolean } from '../values/booleans.ts'
import { mentioned } from '../values/described-options.ts'
import type { Parameter } from './parameter.ts'

/** What is taken where nothing names it. */
const SURE = 0.5

/** What a choice can be. */
export const optionsOf = ({ kind, options }: Parameter): readonly unknown[] =>
  kind === 'boolean' ? [true, false] : options

/** The option that was meant: one that was named goes before what the model thinks. */
export function chooseOption(parameter: Parameter, relevance: readonly number[], said: string): unknown {
  return parameter.kind === 'boolean'
    ? chooseBoolean(parameter, relevance, said)
    : chooseOne(parameter, relevance, said)
}

function chooseBoolean({ name, required }: Parameter, relevance: readonly number[], said: string): boolean | undefined {
  const [yes = 0, no = 0] = relevance
  const named = saidBoolean(name, said)
  if (named !== undefined) return named
  if (yes > SURE && yes >= no) return true
  if (no > SURE && negates(said)) return false
  return required ? yes >= no : undefined
}

function chooseOne({ options, required, fallback }: Parameter, relevance: readonly number[], said: string): unknown {
  const named = mentioned(
    options.map((option, index) => ({ index, words: [String(option)] })),
    said,
  ).map(({ index }) => index)
  const among = named.length > 0 ? named : [...options.keys()]
  const score = (index: number): number => relevance[index] as number
  const best = among.reduce((left, right) => (score(right) > score(left) ? right : left))
  if (named.length > 0 || required) return options[best]
  // What the tool takes by itself is not guessed at.
  return score(best) > SURE && fallback === undefined ? options[best] : undefined
}
