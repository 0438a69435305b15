import type { Message } from '../../models/model.ts'
import type { ObservedTurn, Suite, SuiteCase, Verdict } from '../suites/suite.ts'
import { SuiteError } from '../suites/suite-error.ts'
import { type AcceptedCall, acceptedCall } from './bfcl-answer.ts'
import { type BfclCategory, type BfclLanguage, bfclCategory } from './bfcl-category.ts'
import { functionIn, type Line, questionFile, readAnswers, readClasses, readLines } from './bfcl-files.ts'
import { type BfclFunction, bfclTool, plainName } from './bfcl-function.ts'
import { checkCalls } from './check-calls.ts'
import { checkTurns, turnAnswers } from './multi-turn.ts'

/** A case with the calls that its answers accept, which a perfect model would make. */
export interface BfclCase extends SuiteCase {
  readonly accepted: readonly (readonly AcceptedCall[])[]
}

export interface BfclSuite extends Suite {
  readonly cases: readonly BfclCase[]
}

const REMARK =
  'Not comparable with the published figure: that one runs the calls on simulated services and compares their state, ' +
  'this one compares the calls of each turn with the expected ones.'

/** Loads a category of the Berkeley Function-Calling Leaderboard from a folder of data sets, as a whole. */
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
  return { ...basis, about, accepted: [[]], judge: ([turn]) => noCall(turn) }
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
  // One more call than that in a turn would be wrong anyhow.
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
    throw new SuiteError(`${place}: the line has no id or no question: get the file again.`)
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
  if (!Array.isArray(documented)) throw new SuiteError(`${place}: the line has no functions: get the file again.`)
  return documented.map((one) => functionIn(one, place))
}

function groundTruth(line: Line, answers: ReadonlyMap<string, Line>): readonly unknown[] {
  const truth = answers.get(String(line.value.id))?.value.ground_truth
  if (!Array.isArray(truth)) throw unfit(line)
  return truth
}

const unfit = ({ place, value }: Line, cause?: unknown): SuiteError =>
  new SuiteError(`${place}: the answers to "${value.id}" do not fit it: get questions and answers of one version.`, {
    cause,
  })

/** Right is no call at all. */
function noCall(turn: ObservedTurn | undefined): Verdict {
  const [call] = turn?.calls ?? []
  if (call === undefined) return { passed: true }
  const { tool, params } = call
  const message = `Called ${tool}, although none of the tools can help.`
  return { passed: false, kind: 'unwanted_call', message, tool, expected: [], actual: { tool, params } }
}
