import { readdirSync } from 'node:fs'
import { type Requirement, specScenarios } from './spec-scenarios.ts'
import { specTests } from './spec-tests.ts'

/** A test, and the file that it is in. */
export interface SpecTest {
  readonly name: string
  readonly file: string
}

/** A scenario and the tests that show it: more than one where a scenario holds several sentences. */
export interface CoveredScenario {
  readonly scenario: string
  readonly tests: readonly SpecTest[]
}

/** A requirement, the tests of it, and what is wrong between the two. */
export interface Coverage {
  readonly requirement: Requirement
  readonly scenarios: readonly CoveredScenario[]
  readonly faults: readonly string[]
}

/** `6-endpoints.spec.ts`, and `6-endpoints.chat.spec.ts` beside it where one file would be too long. */
const PART = /(\.[a-z-]+)?\.spec\.ts$/

const folder = new URL('../spec/', import.meta.url)

/** Lays tests beside scenarios, heading by heading. */
export function specCoverage(): Coverage[] {
  return specScenarios().map((requirement) => {
    const heading = specName(requirement)
    const files = specFiles().filter((file) => file.replace(PART, '') === heading)
    if (files.length > 0) return { requirement, ...cover(requirement, files) }
    return { requirement, scenarios: untested(requirement), faults: [`${heading}.spec.ts is missing`] }
  })
}

/** Files in `spec/` that belong to no heading. */
export function straySpecFiles(): string[] {
  const expected = new Set(['coverage', ...specScenarios().map(specName)])
  return specFiles().filter((file) => !expected.has(file.replace(PART, '')))
}

const specFiles = (): string[] => readdirSync(folder).filter((file) => file.endsWith('.spec.ts'))

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

function cover(requirement: Requirement, files: readonly string[]): Pick<Coverage, 'scenarios' | 'faults'> {
  const shown = new Map<string, SpecTest[]>(requirement.scenarios.map((scenario) => [scenario, []]))
  const faults: string[] = []
  for (const file of files) {
    const { headings, tests } = specTests(new URL(file, folder))
    if (headings.length !== 1 || headings[0] !== requirement.heading)
      faults.push(`${file} must hold one describe, '${requirement.heading}'; it has: ${headings.join(', ') || 'none'}`)
    for (const name of tests) {
      const fitting = requirement.scenarios.filter((scenario) => fits(name, scenario))
      const [scenario] = fitting
      if (scenario !== undefined && fitting.length === 1) shown.get(scenario)?.push({ name, file })
      else faults.push(`${file}: test '${name}' fits ${fitting.length} scenarios; it must fit exactly one`)
    }
  }
  const scenarios = [...shown].map(([scenario, tests]) => ({ scenario, tests }))
  for (const { scenario, tests } of scenarios)
    if (tests.length === 0) faults.push(`${files.join(', ')}: no test for '${scenario}'`)
  return { scenarios, faults }
}

function untested(requirement: Requirement): CoveredScenario[] {
  return requirement.scenarios.map((scenario) => ({ scenario, tests: [] }))
}

/** What the names of its files begin with. */
function specName({ section, heading }: Requirement): string {
  const words = wordsOf(heading.replace(/\(.*\)/, '').replaceAll('_', ' '))
  return `${section.toLowerCase()}-${words.join('-')}`
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
}
