import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sameJson } from '../../core/schema/canonical-text.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Message } from '../../models/model.ts'
import { readPythonCalls } from '../../models/printed-calls/read-python-calls.ts'
import { type ObservedTurn, type Suite, type SuiteCase, SuiteError, type Verdict } from '../suites/suite.ts'
import { type BfclCategory, type BfclLanguage, bfclCategory, HOW_TO_GET_BFCL, questionFile } from './bfcl-category.ts'
import { type AcceptedCall, acceptedCall, type BfclFunction, bfclTool, plainName } from './bfcl-function.ts'
import { checkCalls, checkCallsInOrder } from './check-calls.ts'

export interface BfclCase extends SuiteCase {
  readonly accepted: readonly (readonly AcceptedCall[])[]
}

export interface BfclSuite extends Suite {
  readonly cases: readonly BfclCase[]
}

const REMARK =
  'Not comparable with the published score, which runs the calls on simulated services and compares their state: ' +
  'this score compares the calls of each turn with the expected ones.'

/** Loads a category of the Berkeley Function-Calling Leaderboard from a folder of data sets. */
export async function loadBfcl(name: string, folder: string): Promise<BfclSuite> {
  const category = bfclCategory(name)
  const questions = await readLines(questionFile(folder, category))
  const suite = `bfcl:${category.name}`
  switch (category.rule) {
    case 'no_call':
      return { name: suite, cases: questions.map((line) => irrelevanceCase(line, category)) }
    case 'turns': {
      const answers = await readAnswers(folder, category)
      const classes = await readClasses(folder)
      return { name: suite, cases: questions.map((line) => turnsCase(line, answers, classes)), remark: REMARK }
    }
    case 'calls': {
      const answers = await readAnswers(folder, category)
      return { name: suite, cases: questions.map((line) => callsCase(line, answers, category)) }
    }
  }
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

function turnsCase(
  line: Line,
  answers: ReadonlyMap<string, Line>,
  classes: ReadonlyMap<string, readonly BfclFunction[]>,
): BfclCase {
  const { involved_classes: involved, excluded_function: excluded = [] } = line.value
  if (!Array.isArray(involved) || !Array.isArray(excluded)) throw unfit(line)
  const functions = involved.flatMap((name) => classes.get(name) ?? []).filter(({ name }) => !excluded.includes(name))
  const accepted = groundTruth(line, answers).map((turn) => {
    try {
      return turnAnswers(turn as readonly string[], functions)
    } catch (error) {
      throw unfit(line, error)
    }
  })
  const basis = basics(line, functions, 'python')
  if (basis.turns.length !== accepted.length) throw unfit(line)
  const about = [...new Set(accepted.flat().map(({ name }) => plainName(name)))]
  // More calls in a turn would be wrong anyway.
  const longest = Math.max(1, ...accepted.map((turn) => turn.length))
  return {
    ...basis,
    about,
    accepted,
    max_iterations: longest,
    judge: (turns) => checkTurns(turns, accepted, functions),
  }
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
  const truth = answers.get(String(line.value.id))?.value.ground_truth
  if (!Array.isArray(truth)) throw unfit(line)
  return truth
}

const unfit = ({ place, value }: Line, cause?: unknown): SuiteError =>
  new SuiteError(
    `${place}: the answers to "${value.id}" don't match: download questions and answers of the same version.`,
    {
      cause,
    },
  )

function noCall(calls: ObservedTurn['calls']): Verdict {
  const [unwanted] = calls
  if (unwanted === undefined) return { passed: true }
  const { tool } = unwanted
  const message = `Called ${plainName(tool)}, expected no call.`
  return { passed: false, kind: 'unwanted_call', message, tool, expected: [], actual: calls.map((call) => call.tool) }
}

/** Reads the expected calls of one turn, which are written as Python. Throws if one can't be read. */
function turnAnswers(sources: readonly string[], functions: readonly BfclFunction[]): AcceptedCall[] {
  const propertiesOf = (name: string) => functions.find((one) => one.name === name)?.parameters.properties ?? {}
  return sources.map((source) => {
    const [call, ...others] = readPythonCalls(source, (name) => Object.keys(propertiesOf(name))) ?? []
    if (call === undefined || others.length > 0) throw new SyntaxError(`"${source}" isn't a call in Python`)
    const { name, args: given } = call
    if (!functions.some((one) => one.name === name)) throw new SyntaxError(`"${source}" calls an unknown function`)
    const properties = propertiesOf(name)
    const params: Record<string, readonly unknown[]> = {}
    for (const [parameter, value] of Object.entries(given)) {
      if (!Object.hasOwn(properties, parameter))
        throw new SyntaxError(`"${source}" has an unknown parameter "${parameter}"`)
      const isDefault = sameJson(properties[parameter]?.default, value)
      params[parameter] = isDefault ? [accepting(value), ''] : [accepting(value)]
    }
    // Passing a default explicitly is accepted.
    for (const [parameter, { default: preset }] of Object.entries(properties)) {
      if (preset !== undefined && params[parameter] === undefined) params[parameter] = ['', accepting(preset)]
    }
    return { name, params }
  })
}

/** Converts a value to the form of accepted values, in which each entry of an object has a list. */
function accepting(value: unknown): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, [inner]]))
}

/** Judges the calls of each turn, in order; the first wrong turn decides. */
function checkTurns(
  turns: readonly ObservedTurn[],
  answers: readonly (readonly AcceptedCall[])[],
  functions: readonly BfclFunction[],
): Verdict {
  for (const [at, accepted] of answers.entries()) {
    const calls = turns[at]?.calls ?? []
    const question = { functions, language: 'python' } as const
    const verdict = accepted.length === 0 ? noCall(calls) : checkCallsInOrder(calls, accepted, question)
    if (!verdict.passed) return { ...verdict, message: `Turn ${at + 1}: ${verdict.message}` }
  }
  return { passed: true }
}

interface Line {
  readonly place: string
  readonly value: Readonly<Record<string, unknown>>
}

const answerFile = (folder: string, { name }: BfclCategory): string =>
  join(folder, 'bfcl', 'possible_answer', `BFCL_v4_${name}.json`)

async function readAnswers(folder: string, category: BfclCategory): Promise<Map<string, Line>> {
  const lines = await readLines(answerFile(folder, category))
  return new Map(lines.map((line) => [String(line.value.id), line]))
}

const CLASS_FILES: Readonly<Record<string, string>> = {
  GorillaFileSystem: 'gorilla_file_system',
  MathAPI: 'math_api',
  MessageAPI: 'message_api',
  TwitterAPI: 'posting_api',
  TicketAPI: 'ticket_api',
  TradingBot: 'trading_bot',
  TravelAPI: 'travel_booking',
  VehicleControlAPI: 'vehicle_control',
}

async function readClasses(folder: string): Promise<Map<string, readonly BfclFunction[]>> {
  const read = Object.entries(CLASS_FILES).map(async ([name, file]) => {
    const lines = await readLines(join(folder, 'bfcl', 'multi_turn_func_doc', `${file}.json`))
    return [name, lines.map(({ place, value }) => functionIn(value, place))] as const
  })
  return new Map(await Promise.all(read))
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
    const value: unknown = JSON.parse(line)
    if (isObject(value)) return value
  } catch {}
  throw new SuiteError(`${place}: the line isn't a JSON object: download the file again.`)
}
