import type { SpanScores } from '../engine/pair-scorer.ts'
import { codesIn, codeWanted, type FoundValue } from '../values/codes.ts'
import { dateFormat, datesIn, wantsDate } from '../values/dates.ts'
import { patternsIn, patternWanted } from '../values/patterns.ts'
import { shapesIn, shapeWanted } from '../values/shapes.ts'
import { timeZonesIn, wantsTimeZone } from '../values/time-zones.ts'
import { allSpans, type Candidate } from './candidates.ts'
import type { Parameter } from './parameter.ts'

/** Values that are known by what they are, not only by where they stand. */
export interface TypedValues {
  readonly type: string
  readonly values: readonly FoundValue[]
}

/** A value of the wanted type speaks for itself. */
const TYPE_BONUS = 10
/** Where the model marked nothing of it. */
const UNMARKED = -8

/** The values in what was said that are of the type that a parameter asks for; undefined where it asks for none. */
export function typedValues(parameter: Parameter, said: string, now: Date): TypedValues | undefined {
  const { name, description, format, fallback } = parameter
  const pattern = patternWanted(name, description, format)
  if (pattern !== undefined) return { type: pattern, values: patternsIn(pattern, said) }
  if (parameter.kind === 'list') return undefined
  const wanted = dateFormat(description, format)
  if (wanted !== undefined && (format !== undefined || wantsDate(name, description))) {
    return { type: wanted, values: datesIn(said, wanted, now) }
  }
  if (wantsTimeZone(name, description)) return { type: 'zone', values: timeZonesIn(said) }
  const shape = shapeWanted(description)
  if (shape !== undefined) return { type: 'shape', values: shapesIn(shape, said) }
  const code = codeWanted(name, description, fallback)
  if (code === undefined) return undefined
  const values = codesIn(code.kind, said).map((one) => ({ ...one, value: code.write(one.value) }))
  return { type: code.kind, values }
}

/** Them as candidates: each as good as the best piece that touches it, and better for being of the type. */
export function typedCandidates(span: SpanScores, { type, values }: TypedValues): Candidate[] {
  const spans = allSpans(span)
  return values.map(({ from, to, value }) => {
    const marked = spans.find((one) => one.from < to && from < one.to && one.to - one.from <= 2 * (to - from) + 10)
    return { from, to, value, type, score: Math.max(marked?.score ?? UNMARKED, UNMARKED) + TYPE_BONUS }
  })
}
