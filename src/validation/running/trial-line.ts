import type { ObservedTurn, Verdict } from '../suites/suite.ts'
import type { PlannedTrial, Trial } from './trial.ts'

/** Of what a model did in one trial; more is not kept, only its verdict. */
const MOST_CHARACTERS = 65_536

/** What is kept of a trial. */
interface Line {
  readonly suite: string
  readonly suite_hash: string
  readonly model: string
  readonly case: string
  readonly repetition: number
  readonly verdict: Verdict
  /** Absent where it was too much. */
  readonly turns?: readonly ObservedTurn[]
  readonly tokens: number
  readonly cost?: number
  readonly duration_ms: number
  readonly at: string
}

/** One trial as a line of JSON. */
export function writeTrial(trial: Trial): string {
  const { suite, model, case: asked, repetition, verdict, turns, tokens, cost, duration_ms, at } = trial
  const line: Line = {
    suite: suite.suite.name,
    suite_hash: suite.hash,
    model: model.model.id,
    case: asked.id,
    repetition,
    verdict,
    turns,
    tokens,
    ...(cost !== undefined && { cost }),
    duration_ms,
    at,
  }
  const text = JSON.stringify(line)
  if (text.length <= MOST_CHARACTERS) return text
  const { turns: _turns, ...rest } = line
  return JSON.stringify({ ...rest, verdict: short(verdict) })
}

/**
 * Reads one of `planned` back, marked as resumed. What the model did is judged anew, so that a case whose expectation
 * was mended need not be asked again. Lines of other trials, and such as are damaged, give nothing.
 */
export function readTrial(text: string, planned: ReadonlyMap<string, PlannedTrial>): Trial | undefined {
  try {
    const line = JSON.parse(text) as Line
    const { suite_hash, model, case: asked, repetition, verdict, turns, tokens, cost, duration_ms, at } = line
    const found = planned.get(JSON.stringify([suite_hash, model, asked, repetition]))
    if (found === undefined || typeof verdict.passed !== 'boolean') return undefined
    const judged = turns === undefined || (!verdict.passed && verdict.kind === 'not_answered')
    return {
      ...found,
      verdict: judged ? verdict : found.case.judge(turns),
      turns: turns ?? [],
      tokens: Number(tokens),
      ...(cost !== undefined && { cost }),
      duration_ms: Number(duration_ms),
      at: String(at),
      resumed: true,
    }
  } catch {
    return undefined
  }
}

function short(verdict: Verdict): Verdict {
  if (verdict.passed) return verdict
  const { expected: _expected, actual: _actual, ...rest } = verdict
  return { ...rest, message: rest.message.slice(0, 2_000) }
}
