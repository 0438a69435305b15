import { costOf } from '../../models/catalogue/cost-of.ts'
import type { SuiteCase } from '../suites/suite.ts'
import type { PlannedTrial, Spent } from './trial.ts'

const BYTES_PER_TOKEN = 4
/** A call, or a sentence. */
const ANSWER_TOKENS = 100

/** About what trials will use up: a guess, from the length of what is sent. */
export function estimate(trials: readonly PlannedTrial[]): Spent {
  const prompts = new Map<SuiteCase, number>()
  let tokens = 0
  let cost: number | undefined
  for (const { case: asked, model } of trials) {
    const questions = questionsOf(asked)
    const prompt = prompts.get(asked) ?? questions * promptTokens(asked)
    prompts.set(asked, prompt)
    const completion = questions * ANSWER_TOKENS
    tokens += prompt + completion
    const one = costOf(model.prices, prompt, completion)
    if (one !== undefined) cost = (cost ?? 0) + one
  }
  return { tokens: Math.round(tokens), ...(cost !== undefined && { cost }) }
}

/** One turn is a question with its calls, and an answer after them where that is looked at. */
const questionsOf = ({ turns, max_iterations }: SuiteCase): number => turns.length * Math.min(2, max_iterations)

function promptTokens({ turns, tools }: SuiteCase): number {
  const sent = tools.map(({ name, description, parameters }) => [name, description, parameters])
  return Buffer.byteLength(JSON.stringify([turns, sent])) / BYTES_PER_TOKEN
}
