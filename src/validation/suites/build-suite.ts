import type { ToolDefinition } from '../../core/tool.ts'
import { caseProblems } from './case-problems.ts'
import type { WrittenSuite } from './read-suite-file.ts'
import type { Suite, SuiteCase } from './suite.ts'
import { isCase, suiteCase } from './suite-case.ts'
import { SuiteError } from './suite-error.ts'
import type { FileCase } from './suite-file.ts'

/** More problems than this are not read by anybody. */
const MOST_PROBLEMS = 20

/** Checks every case and makes it ready to run; throws a `SuiteError` with all that is wrong. */
export function buildSuite({ name, remark, cases }: WrittenSuite, definitions: readonly ToolDefinition[]): Suite {
  const known = new Map(definitions.map((definition) => [definition.name, definition]))
  const problems: string[] = []
  const built: SuiteCase[] = []
  const ids = new Map<string, string>()
  for (const [index, { place, value }] of cases.entries()) {
    const id = idOf(value) ?? `case ${index + 1}`
    const found = caseProblems(value)
    const first = ids.get(id)
    if (first !== undefined) found.push(`the id "${id}" is at ${first} already: give it another.`)
    const made = found.length > 0 ? { problems: found } : suiteCase(value as FileCase, id, known)
    const trials = isCase(made) ? repeated(made, (value as FileCase).repeat ?? 1) : []
    for (const one of [id, ...trials.map((trial) => trial.id)]) ids.set(one, place)
    built.push(...trials)
    if (!isCase(made)) problems.push(...made.problems.map((problem) => `${place} (${id}): ${problem}`))
  }
  if (problems.length > 0) throw new SuiteError(listed(problems))
  return { name, cases: built, ...(remark !== undefined && { remark }) }
}

/** A case that is run several times counts several times. */
const repeated = (one: SuiteCase, times: number): SuiteCase[] =>
  Array.from({ length: times }, (_none, at) => (at === 0 ? one : { ...one, id: `${one.id}#${at + 1}` }))

function idOf(value: unknown): string | undefined {
  const { id } = Object(value) as { id?: unknown }
  return typeof id === 'string' && id !== '' ? id : undefined
}

function listed(problems: readonly string[]): string {
  const shown = problems.slice(0, MOST_PROBLEMS).join('\n')
  return problems.length > MOST_PROBLEMS ? `${shown}\nand ${problems.length - MOST_PROBLEMS} more` : shown
}
