import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { foreignText, parseJson, RefusedJsonError } from '../../core/json/json-depth.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Message } from '../../models/model.ts'
import { type ObservedTurn, type Suite, type SuiteCase, SuiteError, type Verdict } from '../suites/suite.ts'
import { type BfclCategory, type BfclLanguage, bfclCategory, HOW_TO_GET_BFCL, questionFile } from './bfcl-category.ts'
import { type AcceptedCall, acceptedCall, type BfclFunction, bfclTool, plainName } from './bfcl-function.ts'
import { checkCalls } from './check-calls.ts'

export interface BfclCase extends SuiteCase {
  readonly accepted: readonly (readonly AcceptedCall[])[]
}

export interface BfclSuite extends Suite {
  readonly cases: readonly BfclCase[]
}

/** Loads a category of the Berkeley Function-Calling Leaderboard from a folder of data sets. */
export async function loadBfcl(name: string, folder: string): Promise<BfclSuite> {
  const category = bfclCategory(name)
  const questions = await readLines(questionFile(folder, category))
  const suite = `bfcl:${category.name}`
  if (category.rule === 'no_call') {
    return { name: suite, cases: questions.map((line) => irrelevanceCase(line, category)) }
  }
  const answers = await readAnswers(folder, category)
  return { name: suite, cases: questions.map((line) => callsCase(line, answers, category)) }
}

function callsCase(line: Line, answers: ReadonlyMap<string, Line>, { language }: BfclCategory): BfclCase {
  const functions = functionsOf(line)
  const accepted = groundTruth(line, answers).map((one) => {
    const call = acceptedCall(one)
    if (call === undefined || !functions.some(({ name }) => name === call.name)) throw unfit(line)
    return call
  })
  const about = accepted.map(({ name }) => plainName(name))
  const judge = ([turn]: readonly ObservedTurn[]) => checkCalls(turn?.calls ?? [], accepted, { functions, language })
  return { ...basics(line, functions, language), about: [...new Set(about)], accepted: [accepted], judge }
}

function irrelevanceCase(line: Line, { language }: BfclCategory): BfclCase {
  const functions = functionsOf(line)
  const basis = basics(line, functions, language)
  const about = functions.length === 1 ? basis.tools.map(({ name }) => name) : []
  return { ...basis, about, accepted: [[]], judge: ([turn]) => noCall(turn?.calls ?? []) }
}

function basics({ place, value }: Line, functions: readonly BfclFunction[], language: BfclLanguage) {
  const { id, question } = value
  if (typeof id !== 'string' || !Array.isArray(question)) {
    throw new SuiteError(`${place}: the line has no id or no question: download the file again.`)
  }
  return {
    id,
    turns: question as readonly (readonly Message[])[],
    tools: functions.map((one) => bfclTool(one, language)),
    mocks: {},
    max_iterations: 1,
  }
}

function functionsOf({ place, value }: Line): BfclFunction[] {
  const { function: documented } = value
  if (!Array.isArray(documented)) throw new SuiteError(`${place}: the line has no functions: download the file again.`)
  return documented.map((one) => functionIn(one, place))
}

function groundTruth(line: Line, answers: ReadonlyMap<string, Line>): readonly unknown[] {
  const truth = answers.get(foreignText(line.value.id))?.value.ground_truth
  if (!Array.isArray(truth)) throw unfit(line)
  return truth
}

const unfit = ({ place, value }: Line): SuiteError =>
  new SuiteError(
    `${place}: the answers to "${value.id}" don't match: download questions and answers of the same version.`,
  )

function noCall(calls: ObservedTurn['calls']): Verdict {
  const [unwanted] = calls
  if (unwanted === undefined) return { passed: true }
  const { tool } = unwanted
  const message = `Called ${plainName(tool)}, expected no call.`
  return { passed: false, kind: 'unwanted_call', message, tool, expected: [], actual: calls.map((call) => call.tool) }
}

interface Line {
  readonly place: string
  readonly value: Readonly<Record<string, unknown>>
}

const answerFile = (folder: string, { name }: BfclCategory): string =>
  join(folder, 'bfcl', 'possible_answer', `BFCL_v4_${name}.json`)

async function readAnswers(folder: string, category: BfclCategory): Promise<Map<string, Line>> {
  const lines = await readLines(answerFile(folder, category))
  return new Map(lines.map((line) => [foreignText(line.value.id), line]))
}

/** Reads a function, and adds missing optional parts. */
function functionIn(value: unknown, place: string): BfclFunction {
  const { name, description, parameters } = Object(value) as Partial<BfclFunction>
  if (typeof name !== 'string' || !isObject(parameters)) {
    throw new SuiteError(`${place}: a function has no name or no parameters: download the file again.`)
  }
  const { properties = {}, required = [] } = parameters as Partial<BfclFunction['parameters']>
  return {
    name,
    description: description || `The function ${name}.`,
    parameters: { ...parameters, properties, required },
  }
}

async function readLines(file: string): Promise<Line[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SuiteError(`${file} can't be read (${code}): ${HOW_TO_GET_BFCL}`, { cause: error })
  }
  return text.split('\n').flatMap((line, index) => {
    const place = `${file}:${index + 1}`
    return line.trim() === '' ? [] : [{ place, value: objectIn(line, place) }]
  })
}

function objectIn(line: string, place: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJson(line)
    if (isObject(value)) return value
  } catch (error) {
    if (error instanceof RefusedJsonError) throw new SuiteError(`${place}: the line ${error.message}: flatten it.`)
  }
  throw new SuiteError(`${place}: the line isn't a JSON object: download the file again.`)
}
