/** How one run of the suite went. */
export interface Summary {
  /** Scenarios that count, by name: how many checks passed and failed in each. */
  readonly scored: ReadonlyMap<string, { readonly passed: number; readonly failed: number }>
  /** Scenarios that passed without a single check: they show nothing. */
  readonly empty: readonly string[]
  readonly failing: readonly string[]
}

/** Reads what the suite prints at its end. What it calls "not scored" (extensions, pending scenarios) is left out. */
export function readSummary(printed: string): Summary {
  const [, end = ''] = printed.split('=== SUMMARY ===')
  const [counted = '', uncounted = ''] = end.split('\nNot scored')
  const unscored = new Set([...uncounted.matchAll(/^ {2}[✓✗] (\S+) \(/gm)].map(([, name]) => name))
  const lines = [...counted.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed/gm)]
  const scored = new Map(
    lines
      .filter(([, name]) => !unscored.has(name))
      .map(([, name = '', passed, failed]) => [name, { passed: Number(passed), failed: Number(failed) }]),
  )
  const named = (holds: (counts: { passed: number; failed: number }) => boolean) =>
    [...scored].filter(([, counts]) => holds(counts)).map(([name]) => name)
  return {
    scored,
    empty: named(({ passed, failed }) => passed + failed === 0),
    failing: named(({ failed }) => failed > 0),
  }
}
