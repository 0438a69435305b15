import { specCoverage, straySpecFiles } from './spec-coverage.ts'

/** Every scenario without a test and every test without a scenario, one sentence each. */
export function specMissing(): string[] {
  return [
    ...specCoverage().flatMap(({ faults }) => faults),
    ...straySpecFiles().map((file) => `${file} belongs to no heading of the specification`),
  ]
}

if (import.meta.main) {
  const missing = specMissing()
  for (const fault of missing) console.log(fault)
  if (missing.length === 0) console.log('Every scenario has a test, and every test a scenario.')
  else process.exitCode = 1
}
