import type { SpanScores } from '../engine/pair-scorer.ts'
import { takeTurns } from '../take-turns.ts'
import { lettersIn, takesLetter } from '../values/letters.ts'
import { type FoundNumber, numbersIn } from '../values/numbers-in.ts'
import { type Quote, quotesIn } from '../values/quotes-in.ts'
import { type Candidate, numberCandidates, spanCandidates } from './candidates.ts'
import { directedPieces, directionFits } from './direction.ts'
import { namedBefore } from './named-before.ts'
import { numberFits } from './number-fits.ts'
import type { Parameter } from './parameter.ts'
import { typedCandidates, typedValues } from './typed-candidates.ts'
import { wholeSpan } from './whole-span.ts'

interface Claim {
  readonly parameter: Parameter
  readonly candidate: Candidate
}

interface Said {
  readonly said: string
  readonly numbers: readonly FoundNumber[]
  readonly quotes: readonly Quote[]
  readonly now: Date
  /** What names the options that were chosen; nothing else is likely to be there. */
  readonly chosen: readonly { readonly from: number; readonly to: number }[]
}

interface Assigning {
  readonly chosen?: Said['chosen']
  /** Whether two texts may be the same piece, where a call cannot do without either. */
  readonly sharing?: boolean
}

/** Each number is weighed for each parameter. */
const MOST_NUMBERS = 100
const REQUIRED_BONUS = 2
const NAMED_BONUS = 4
const DIRECTION_BONUS = 10
const CHOSEN = -20
const TOUCHES_CHOSEN = -5
/** Of values of one type, those that a call cannot do without come first. */
const TYPED_REQUIRED_BONUS = 12

/** Which piece of what was said goes to which parameter: best first, and no two share a piece. */
export async function assignSpans(
  parameters: readonly Parameter[],
  spans: readonly SpanScores[],
  said: string,
  now: Date,
  { chosen = [], sharing = true }: Assigning = {},
): Promise<Map<Parameter, Candidate>> {
  const numbers = numbersIn(said).slice(0, MOST_NUMBERS)
  const claims = await claimsOf(parameters, spans, { said, numbers, quotes: quotesIn(said), now, chosen })
  const given = new Map<Parameter, Candidate>()
  for (const { parameter, candidate } of claims) {
    if (given.has(parameter) || (candidate.score < 0 && !parameter.required)) continue
    if ([...given.values()].some((used) => inTheWay(candidate, used))) continue
    given.set(parameter, candidate)
  }
  // A required text that found everything taken may share.
  if (!sharing) return given
  for (const { parameter, candidate } of claims) {
    if (parameter.required && !given.has(parameter) && parameter.kind === 'text') given.set(parameter, candidate)
  }
  return given
}

/** Two values may share a piece where each is known to be something else in it: "tomorrow at 8" is a day and a time. */
function inTheWay(candidate: Candidate, used: Candidate): boolean {
  if (candidate.from >= used.to || used.from >= candidate.to) return false
  return candidate.type === undefined || used.type === undefined || candidate.type === used.type
}

async function claimsOf(parameters: readonly Parameter[], spans: readonly SpanScores[], said: Said): Promise<Claim[]> {
  const bonus = ({ type }: Candidate): number => (type === undefined ? REQUIRED_BONUS : TYPED_REQUIRED_BONUS)
  const rank = ({ parameter, candidate }: Claim): number =>
    candidate.score + (parameter.required ? bonus(candidate) : 0)
  const claims: Claim[] = []
  for (const [index, parameter] of parameters.entries()) {
    await takeTurns()
    for (const candidate of candidatesOf(parameter, spans[index] as SpanScores, said)) {
      const named = namedBefore(parameter.name, said.said, candidate.from) ? NAMED_BONUS : 0
      const direction = directionFits(parameter.name, said.said, candidate.from) * DIRECTION_BONUS
      const taken = takenBy(said.chosen, candidate)
      claims.push({ parameter, candidate: { ...candidate, score: candidate.score + named + direction + taken } })
    }
  }
  return claims.sort((left, right) => rank(right) - rank(left))
}

/** A piece that names an option is hardly anything else as well. */
function takenBy(chosen: Said['chosen'], { from, to, type }: Candidate): number {
  if (type !== undefined) return 0
  if (chosen.some((one) => one.from <= from && to <= one.to)) return CHOSEN
  return chosen.some((one) => one.from < to && from < one.to) ? TOUCHES_CHOSEN : 0
}

function candidatesOf(parameter: Parameter, span: SpanScores, { said, numbers, quotes, now }: Said): Candidate[] {
  const { kind } = parameter
  if (kind === 'number' || kind === 'integer') {
    return numberCandidates(span, numbers).map((one) => ({
      ...one,
      score: one.score + numberFits(parameter, one, said),
    }))
  }
  const typed = typedValues(parameter, said, now)
  const found = typed === undefined ? [] : typedCandidates(span, typed)
  if (typed !== undefined && (found.length > 0 || !parameter.required)) return found
  const pieces = spanCandidates(span).flatMap((one) => wholeSpan(one, said, kind === 'list' ? [] : quotes) ?? [])
  if (kind !== 'text') return pieces
  const letters = takesLetter(parameter) ? typedCandidates(span, { type: 'letter', values: lettersIn(said) }) : []
  return [...letters, ...pieces, ...directedPieces(parameter.name, said)]
}
