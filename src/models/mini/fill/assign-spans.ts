import type { SpanScores } from '../engine/pair-scorer.ts'
import { numbersIn } from '../values/numbers-in.ts'
import { quotesIn } from '../values/quotes-in.ts'
import { type Candidate, numberCandidates, spanCandidates } from './candidates.ts'
import { namedBefore } from './named-before.ts'
import type { Parameter } from './parameter.ts'
import { wholeSpan } from './whole-span.ts'

interface Claim {
  readonly parameter: Parameter
  readonly candidate: Candidate
}

const REQUIRED_BONUS = 2
const NAMED_BONUS = 4

/** Which piece of what was said goes to which parameter: best first, and no two share a piece. */
export function assignSpans(
  parameters: readonly Parameter[],
  spans: readonly SpanScores[],
  said: string,
): Map<Parameter, Candidate> {
  const claims = claimsOf(parameters, spans, said)
  const given = new Map<Parameter, Candidate>()
  for (const { parameter, candidate } of claims) {
    if (given.has(parameter) || (candidate.score < 0 && !parameter.required)) continue
    if ([...given.values()].some((used) => candidate.from < used.to && used.from < candidate.to)) continue
    given.set(parameter, candidate)
  }
  // A required text that found everything taken may share.
  for (const { parameter, candidate } of claims) {
    if (parameter.required && !given.has(parameter) && parameter.kind === 'text') given.set(parameter, candidate)
  }
  return given
}

function claimsOf(parameters: readonly Parameter[], spans: readonly SpanScores[], said: string): Claim[] {
  const numbers = numbersIn(said)
  const quotes = quotesIn(said)
  const rank = ({ parameter, candidate }: Claim): number => candidate.score + (parameter.required ? REQUIRED_BONUS : 0)
  return parameters
    .flatMap((parameter, index): Claim[] => {
      const span = spans[index] as SpanScores
      const { kind, name } = parameter
      const candidates =
        kind === 'number' || kind === 'integer'
          ? numberCandidates(span, numbers)
          : spanCandidates(span).flatMap((one) => wholeSpan(one, said, kind === 'list' ? [] : quotes) ?? [])
      return candidates.map(({ score, from, to }) => {
        const named = namedBefore(name, said, from) ? NAMED_BONUS : 0
        return { parameter, candidate: { score: score + named, from, to } }
      })
    })
    .sort((left, right) => rank(right) - rank(left))
}
