import type { LoopShape } from './loop-shape.ts'
import { NAME, type WeatherParams, WRONG_PARAMS } from './weather.ts'

export const QUESTION = 'What is the weather like?'
export const ANSWER = 'It is sunny.'

/** One call that the model asks for, in both forms that models give parameters in. */
export interface ScriptedCall {
  readonly id: string
  readonly params: WeatherParams
  readonly json: string
}

/** The names of all tools; the first is the one that is called. */
export const toolNames = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => (i === 0 ? NAME : `${NAME}_${i}`))

/**
 * What a model says in one run after the other: the calls of each turn, then the answer. All of it is made beforehand, so
 * that the model costs nothing. No two calls of a run are alike, because a guard against repetition would stop them.
 */
export function scriptedAnswers<Said>(
  { turns, calls, wrong }: LoopShape,
  ask: (calls: readonly ScriptedCall[]) => Said,
  answer: Said,
): () => Said {
  const said = Array.from({ length: turns }, (_, turn) =>
    ask(Array.from({ length: calls }, (_, call) => scriptedCall(turn * calls + call, wrong))),
  )
  let next = 0
  return () => {
    const now = said[next] ?? answer
    next = next === turns ? 0 : next + 1
    return now
  }
}

function scriptedCall(number: number, wrong: true | undefined): ScriptedCall {
  const params = wrong ? WRONG_PARAMS : { location: `Paris ${number}`, units: 'celsius' }
  return { id: `call_${number}`, params, json: JSON.stringify(params) }
}
