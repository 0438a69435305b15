import { existsSync, readdirSync } from 'node:fs'
import { type Requirement, specScenarios } from './spec-scenarios.ts'
import { specTests } from './spec-tests.ts'

/** A scenario and the names of the tests that show it: more than one where a scenario holds several sentences. */
export interface CoveredScenario {
  readonly scenario: string
  readonly tests: readonly string[]
}

/** A requirement, the file that tests it, and what is wrong between the two. */
export interface Coverage {
  readonly requirement: Requirement
  readonly file: string
  readonly scenarios: readonly CoveredScenario[]
  readonly faults: readonly string[]
}

const folder = new URL('../spec/', import.meta.url)

/** Lays tests beside scenarios, heading by heading. */
export function specCoverage(): Coverage[] {
  return specScenarios().map((requirement) => {
    const file = specFile(requirement)
    const url = new URL(file, folder)
    if (!existsSync(url)) return { requirement, file, scenarios: untested(requirement), faults: [`${file} is missing`] }
    return { requirement, file, ...cover(requirement, file, specTests(url)) }
  })
}

/** Files in `spec/` that belong to no heading. */
export function straySpecFiles(): string[] {
  const expected = new Set(['coverage.spec.ts', ...specScenarios().map(specFile)])
  return readdirSync(folder).filter((file) => file.endsWith('.spec.ts') && !expected.has(file))
}

/**
 * A name fits a scenario when its words are words of the scenario, in the same order, and at least four of them, or
 * all where there are fewer. Case and punctuation do not count.
 */
export function fits(name: string, scenario: string): boolean {
  const wanted = wordsOf(scenario)
  const given = wordsOf(name)
  if (given.length < Math.min(4, wanted.length)) return false
  let at = 0
  for (const word of wanted) if (word === given[at]) at++
  return at === given.length
}

function cover(
  requirement: Requirement,
  file: string,
  { headings, tests }: ReturnType<typeof specTests>,
): Pick<Coverage, 'scenarios' | 'faults'> {
  const shown = new Map<string, string[]>(requirement.scenarios.map((scenario) => [scenario, []]))
  const faults: string[] = []
  if (headings.length !== 1 || headings[0] !== requirement.heading)
    faults.push(`${file} must hold one describe, '${requirement.heading}'; it has: ${headings.join(', ') || 'none'}`)
  for (const name of tests) {
    const fitting = requirement.scenarios.filter((scenario) => fits(name, scenario))
    const [scenario] = fitting
    if (scenario !== undefined && fitting.length === 1) shown.get(scenario)?.push(name)
    else faults.push(`${file}: test '${name}' fits ${fitting.length} scenarios; it must fit exactly one`)
  }
  const scenarios = [...shown].map(([scenario, names]) => ({ scenario, tests: names }))
  for (const { scenario, tests: names } of scenarios)
    if (names.length === 0) faults.push(`${file}: no test for '${scenario}'`)
  return { scenarios, faults }
}

function untested(requirement: Requirement): CoveredScenario[] {
  return requirement.scenarios.map((scenario) => ({ scenario, tests: [] }))
}

function specFile({ section, heading }: Requirement): string {
  const words = wordsOf(heading.replace(/\(.*\)/, '').replaceAll('_', ' '))
  return `${section.toLowerCase()}-${words.join('-')}.spec.ts`
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
}
