import { type LoadSuiteOptions, loadSuite } from './load-suite.ts'
import type { Suite } from './suite.ts'
import { SuiteError } from './suite-error.ts'

/** Loads suites by name; of two that are called the same one could not tell the results apart. Rejects with a `SuiteError`. */
export async function loadSuites(names: readonly string[], options: LoadSuiteOptions): Promise<Suite[]> {
  const suites = new Map<string, Suite>()
  for (const name of names) {
    const suite = await loadSuite(name, options)
    if (suites.has(suite.name)) {
      throw new SuiteError(`Two suites are called "${suite.name}": give one of them another name, or leave it out.`)
    }
    suites.set(suite.name, suite)
  }
  return [...suites.values()]
}
