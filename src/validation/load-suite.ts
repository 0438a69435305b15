import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { foreignText, parseJson } from '../core/json/json-depth.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import { suggest } from '../core/suggest.ts'
import type { ToolDefinition } from '../core/tool.ts'
import { dataSetsFolder } from './bfcl/bfcl-category.ts'
import { loadBfcl } from './bfcl/load-bfcl.ts'
import { generateSuite } from './suites/generate-suite.ts'
import { judgeCase } from './suites/judge-case.ts'
import { type Expectation, type FileCase, type Suite, type SuiteCase, SuiteError } from './suites/suite.ts'
import { caseProblems, FILE_SCHEMA, SUITE_LIMITS, schemaProblems } from './suites/suite-schema.ts'

interface LoadSuiteOptions {
  readonly definitions: readonly ToolDefinition[]
  /** The folder with data sets; `dataSetsFolder()` by default. */
  readonly dataFolder?: string
}

const BFCL = 'bfcl:'

/** Loads a suite by name: `bfcl:<category>`, `generated`, or the path of a file. Rejects with a `SuiteError`. */
export async function loadSuite(name: string, { definitions, dataFolder }: LoadSuiteOptions): Promise<Suite> {
  if (name.startsWith(BFCL)) return loadBfcl(name.slice(BFCL.length), dataFolder ?? dataSetsFolder())
  if (name !== 'generated') return buildSuite(await readSuiteFile(name), definitions)
  const { cases, remark } = generateSuite(definitions)
  if (cases.length === 0) throw new SuiteError('No suite can be generated: there are no tools. Register one.')
  const unchecked = cases.map((value) => ({ place: 'generated', value }))
  return buildSuite({ name, cases: unchecked, ...(remark !== undefined && { remark }) }, definitions)
}

/** Rejects with a `SuiteError`, also if two suites have the same name: their results would mix. */
export async function loadSuites(names: readonly string[], options: LoadSuiteOptions): Promise<Suite[]> {
  const suites = new Map<string, Suite>()
  for (const name of names) {
    const suite = await loadSuite(name, options)
    if (suites.has(suite.name)) {
      throw new SuiteError(`Two suites are named "${suite.name}": rename or remove one of them.`)
    }
    suites.set(suite.name, suite)
  }
  return [...suites.values()]
}

/** A suite whose cases aren't checked yet. */
interface UncheckedSuite {
  readonly name: string
  readonly remark?: string
  readonly cases: readonly UncheckedCase[]
}

interface UncheckedCase {
  /** File and line, for messages. */
  readonly place: string
  readonly value: unknown
}

/** Reads a list of cases, an object with `cases`, or JSON Lines (`.jsonl`, `.ndjson`). */
async function readSuiteFile(file: string): Promise<UncheckedSuite> {
  const text = await readBounded(file)
  const name = basename(file)
  const suite = /\.(?:jsonl|ndjson)$/i.test(file) ? { name, cases: linesIn(text, file) } : documentIn(text, file, name)
  const { length } = suite.cases
  if (length === 0) throw new SuiteError(`${file}: it has no cases: add one.`)
  if (length > SUITE_LIMITS.cases) {
    throw new SuiteError(`${file}: it has ${length} cases, but at most ${SUITE_LIMITS.cases} are allowed: split it.`)
  }
  return suite
}

async function readBounded(file: string): Promise<string> {
  try {
    const found = await stat(file)
    if (!found.isFile())
      throw new SuiteError(`"${file}" isn't a file: use a file with cases, bfcl:simple or generated.`)
    if (found.size > SUITE_LIMITS.bytes) {
      const most = SUITE_LIMITS.bytes / 1024 / 1024
      throw new SuiteError(`${file}: it has ${found.size} bytes, but at most ${most} MB are allowed: split it.`)
    }
    return (await readFile(file, 'utf8')).replace(/^\uFEFF/, '')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof SuiteError) throw error
    const reason = code === 'ENOENT' ? 'There is no suite or file' : `The system reports ${code} for the file`
    throw new SuiteError(`${reason} "${file}": use a file with cases, bfcl:simple or generated.`, { cause: error })
  }
}

function linesIn(text: string, file: string): UncheckedCase[] {
  return text.split('\n').flatMap((line, index) => {
    const place = `${file}:${index + 1}`
    return line.trim() === '' ? [] : [{ place, value: parsed(line, place) }]
  })
}

function documentIn(text: string, file: string, name: string): UncheckedSuite {
  const value = parsed(text, file)
  if (!Array.isArray(value)) {
    const problems = schemaProblems(value, FILE_SCHEMA, 'the file')
    if (problems.length > 0) throw new SuiteError(`${file}: ${problems.join(' ')}`)
  }
  const lines = itemLines(text)
  const { cases, remark } = (isObject(value) ? value : { cases: value }) as Partial<UncheckedSuite>
  return {
    name: (isObject(value) ? (value as Partial<UncheckedSuite>).name : undefined) ?? name,
    ...(remark !== undefined && { remark }),
    cases: (cases as readonly unknown[]).map((one, at) => ({ place: `${file}:${lines[at] ?? 1}`, value: one })),
  }
}

function parsed(text: string, place: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new SuiteError(`${place}: invalid JSON: ${reason.replace(/^JSON\.parse: /, '')}. Fix it there.`, {
      cause: error,
    })
  }
}

/** The line numbers of the items in the top-level list, or in lists of the top-level object. */
function itemLines(text: string): number[] {
  const lines: number[] = []
  const wanted = text.trimStart().startsWith('[') ? 1 : 2
  const open: string[] = []
  let line = 1
  let due = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character === '\n') line++
    if (/\s/.test(character)) continue
    if (due && character !== ']') lines.push(line)
    due = false
    if (character === '"') at = endOfString(text, at)
    else if (character === '[' || character === '{') open.push(character)
    else if (character === ']' || character === '}') open.pop()
    due = open.length === wanted && open.at(-1) === '[' && (character === '[' || character === ',')
  }
  return lines
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

const MAX_PROBLEMS = 20
/** Pairs of characters that are compared to find similar names. */
const MAX_COMPARED = 2_000_000
/** Enough for a model that reads before it answers. */
const ITERATIONS_TO_ANSWER = 5

/** Checks every case and prepares it; throws a `SuiteError` that lists all problems. */
export function buildSuite({ name, remark, cases }: UncheckedSuite, definitions: readonly ToolDefinition[]): Suite {
  const known = new Map(definitions.map((definition) => [definition.name, definition]))
  const hints = new Hints()
  const problems: string[] = []
  const built: SuiteCase[] = []
  const ids = new Map<string, string>()
  for (const [index, { place, value }] of cases.entries()) {
    const id = idOf(value) ?? `case ${index + 1}`
    const found = caseProblems(value)
    const first = ids.get(id)
    if (first !== undefined) found.push(`the id "${id}" is already used at ${first}: choose another.`)
    const made = found.length > 0 ? { problems: found } : suiteCase(value as FileCase, id, known, hints)
    const trials = isCase(made) ? repeated(made, (value as FileCase).repeat ?? 1) : []
    for (const one of [id, ...trials.map((trial) => trial.id)]) ids.set(one, place)
    built.push(...trials)
    if (!isCase(made)) for (const problem of made.problems) problems.push(`${place} (${id}): ${problem}`)
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

type KnownTools = ReadonlyMap<string, ToolDefinition>

/** Similar names for people, within a bound of work: callers save cases, too. */
class Hints {
  #left = MAX_COMPARED

  near(wanted: string, names: readonly string[]): string | undefined {
    if (this.#left <= 0) return undefined
    this.#left -= names.reduce((sum, { length }) => sum + (length + 1) * (wanted.length + 1), 0)
    return this.#left < 0 ? undefined : suggest(wanted, names)[0]
  }
}

function suiteCase(
  source: FileCase,
  id: string,
  known: KnownTools,
  hints: Hints,
): SuiteCase | { readonly problems: string[] } {
  const { query, messages = [], mocks = {}, expect } = source
  const { tools, problems } = offered(source, known, hints)
  const names = tools.map(({ name }) => name)
  const all = new Set(names)
  const check = (path: string, tool: string): void => {
    if (!all.has(tool)) problems.push(notOffered(path, tool, names, hints))
  }
  for (const [at, { tool }] of (expect.calls ?? []).entries()) check(`expect.calls[${at}].tool`, tool)
  for (const [at, tool] of (expect.forbidden ?? []).entries()) check(`expect.forbidden[${at}]`, tool)
  for (const tool of Object.keys(mocks)) check('mocks', tool)
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

function offered(
  { tools: listed }: FileCase,
  known: KnownTools,
  hints: Hints,
): { tools: ToolDefinition[]; problems: string[] } {
  const problems: string[] = []
  const tools = new Map<string, ToolDefinition>()
  const names = [...known.keys()]
  for (const [at, one] of (listed ?? names).entries()) {
    const found = typeof one === 'string' ? known.get(one) : one
    if (found === undefined)
      problems.push(notRegistered(`tools[${at}]`, foreignText(one), hints.near(foreignText(one), names)))
    else if (tools.has(found.name)) problems.push(twice(`tools[${at}]`, found.name))
    else tools.set(found.name, asMock(found))
  }
  return { tools: [...tools.values()], problems }
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

function notOffered(path: string, tool: string, names: readonly string[], hints: Hints): string {
  const near = hints.near(tool, names)
  const offer = names.length === 0 ? 'none' : names.slice(0, 20).join(', ')
  const fix = near === undefined ? `use one of the offered tools (${offer})` : `did you mean '${near}'?`
  return `${path} names "${tool}", which the case doesn't offer: ${fix}${near === undefined ? '.' : ''}`
}

function notRegistered(path: string, tool: string, near: string | undefined): string {
  const fix = near === undefined ? 'define the tool there, or register it.' : `did you mean '${near}'?`
  return `${path} names "${tool}", which isn't registered: ${fix}`
}

const twice = (path: string, tool: string): string => `${path} is "${tool}" again: remove one of them.`

const isCase = (made: SuiteCase | { readonly problems: string[] }): made is SuiteCase =>
  isObject(made) && !('problems' in made)
