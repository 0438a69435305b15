/** Labels and colours of trial outcomes. */
export const OUTCOMES = {
  failed: { tone: 'bad', word: 'failed' },
  not_answered: { tone: 'warn', word: 'not answered' },
  not_run: { tone: 'plain', word: 'not run' },
  passed: { tone: 'good', word: 'passed' },
} as const

/** Saved suites by their own names. */
export const suiteNames = (suites: readonly string[]): string =>
  suites.map((name) => name.replace(/^saved\//, '')).join(', ')
