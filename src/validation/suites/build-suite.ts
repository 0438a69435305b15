import { isObject } from '../../core/schema/schema-keywords.ts'
import { suggest } from '../../core/suggest.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { judgeCase } from './judge-case.ts'
import type { UncheckedSuite } from './read-suite-file.ts'
import { type Expectation, type FileCase, type Suite, type SuiteCase, SuiteError } from './suite.ts'
import { caseProblems } from './suite-schema.ts'

const MAX_PROBLEMS = 20
/** Enough for a model that reads before it answers. */
const ITERATIONS_TO_ANSWER = 5

/** Checks every case and prepares it; throws a `SuiteError` that lists all problems. */
export function buildSuite({ name, remark, cases }: UncheckedSuite, definitions: readonly ToolDefinition[]): Suite {
  const known = new Map(definitions.map((definition) => [definition.name, definition]))
  const problems: string[] = []
  const built: SuiteCase[] = []
  const ids = new Map<string, string>()
  for (const [index, { place, value }] of cases.entries()) {
    const id = idOf(value) ?? `case ${index + 1}`
    const found = caseProblems(value)
    const first = ids.get(id)
    if (first !== undefined) found.push(`the id "${id}" is already used at ${first}: choose another.`)
    const made = found.length > 0 ? { problems: found } : suiteCase(value as FileCase, id, known)
    const trials = isCase(made) ? repeated(made, (value as FileCase).repeat ?? 1) : []
    for (const one of [id, ...trials.map((trial) => trial.id)]) ids.set(one, place)
    built.push(...trials)
    if (!isCase(made)) problems.push(...made.problems.map((problem) => `${place} (${id}): ${problem}`))
  }
  if (problems.length > 0) throw new SuiteError(summary(problems))
  return { name, cases: built, ...(remark !== undefined && { remark }) }
}

const repeated = (one: SuiteCase, times: number): SuiteCase[] =>
  Array.from({ length: times }, (_none, at) => (at === 0 ? one : { ...one, id: `${one.id}#${at + 1}` }))

function idOf(value: unknown): string | undefined {
  const { id } = Object(value) as { id?: unknown }
  return typeof id === 'string' && id !== '' ? id : undefined
}

function summary(problems: readonly string[]): string {
  const shown = problems.slice(0, MAX_PROBLEMS).join('\n')
  return problems.length > MAX_PROBLEMS ? `${shown}\nand ${problems.length - MAX_PROBLEMS} more` : shown
}

/** Registered tools by name. */
type KnownTools = ReadonlyMap<string, ToolDefinition>

/** Builds a case, or lists the unknown names in it. */
function suiteCase(source: FileCase, id: string, known: KnownTools): SuiteCase | { readonly problems: string[] } {
  const { query, messages = [], mocks = {}, expect } = source
  const { tools, problems } = offered(source, known)
  const names = tools.map(({ name }) => name)
  for (const [at, { tool }] of (expect.calls ?? []).entries()) {
    if (!names.includes(tool)) problems.push(notOffered(`expect.calls[${at}].tool`, tool, names))
  }
  for (const [at, tool] of (expect.forbidden ?? []).entries()) {
    if (!names.includes(tool)) problems.push(notOffered(`expect.forbidden[${at}]`, tool, names))
  }
  for (const tool of Object.keys(mocks)) if (!names.includes(tool)) problems.push(notOffered('mocks', tool, names))
  if (problems.length > 0) return { problems }
  return {
    id,
    turns: [[...messages, { role: 'user', content: query }]],
    tools,
    mocks,
    max_iterations: iterations(expect),
    about: about(expect, names),
    expected: expect,
    judge: ([turn = { calls: [], answer: '' }]) => judgeCase(expect, turn, tools),
  }
}

function offered({ tools: listed }: FileCase, known: KnownTools): { tools: ToolDefinition[]; problems: string[] } {
  const problems: string[] = []
  const tools: ToolDefinition[] = []
  for (const [at, one] of (listed ?? [...known.keys()]).entries()) {
    const found = typeof one === 'string' ? known.get(one) : one
    if (found === undefined) problems.push(notRegistered(`tools[${at}]`, String(one), [...known.keys()]))
    else if (tools.some(({ name }) => name === found.name)) problems.push(twice(`tools[${at}]`, found.name))
    else tools.push(asMock(found))
  }
  return { tools, problems }
}

const asMock = ({ name, description, parameters }: Omit<ToolDefinition, 'implementation'>): ToolDefinition => ({
  name,
  description,
  parameters,
  implementation: { type: 'mock', mock_response: { ok: true } },
})

/** If only calls are expected, a turn ends with the last one that can still be right. */
function iterations({ calls, no_call, answer_matches }: Expectation): number {
  if (no_call) return 1
  if (calls === undefined || answer_matches !== undefined)
    return Math.max(ITERATIONS_TO_ANSWER, (calls?.length ?? 0) + 1)
  return calls.length
}

/** The tools of the expected calls, else the forbidden tools, else the only tool. */
function about({ calls, forbidden }: Expectation, names: readonly string[]): string[] {
  if (calls !== undefined) return [...new Set(calls.map(({ tool }) => tool))]
  return forbidden !== undefined ? [...new Set(forbidden)] : names.length === 1 ? [...names] : []
}

function notOffered(path: string, tool: string, names: readonly string[]): string {
  const [near] = suggest(tool, names)
  const offer = names.length === 0 ? 'none' : names.slice(0, 20).join(', ')
  const fix = near === undefined ? `use one of the offered tools (${offer})` : `did you mean '${near}'?`
  return `${path} names "${tool}", which the case doesn't offer: ${fix}${near === undefined ? '.' : ''}`
}

function notRegistered(path: string, tool: string, names: readonly string[]): string {
  const [near] = suggest(tool, names)
  const fix = near === undefined ? 'define the tool there, or register it.' : `did you mean '${near}'?`
  return `${path} names "${tool}", which isn't registered: ${fix}`
}

const twice = (path: string, tool: string): string => `${path} is "${tool}" again: remove one of them.`

const isCase = (made: SuiteCase | { readonly problems: string[] }): made is SuiteCase =>
  isObject(made) && !('problems' in made)
