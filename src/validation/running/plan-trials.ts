import type { HashedSuite, PlannedTrial, TriedModel } from './trial.ts'

/** The trials of one model, in the order in which they are made: every case once before any of them is repeated. */
export function planTrials(suites: readonly HashedSuite[], model: TriedModel, repeat: number): PlannedTrial[] {
  const trials: PlannedTrial[] = []
  for (let repetition = 1; repetition <= repeat; repetition++) {
    for (const suite of suites) {
      for (const one of suite.suite.cases) trials.push({ suite, case: one, repetition, model })
    }
  }
  return trials
}
