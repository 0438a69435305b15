import { sameJson } from '../../core/schema/same-json.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { ObservedTurn, Verdict } from '../suites/suite.ts'
import type { AcceptedCall } from './bfcl-answer.ts'
import { type BfclFunction, plainName } from './bfcl-function.ts'
import { checkCallsInOrder } from './check-calls.ts'
import { parsePythonCall } from './python-call.ts'

/** The calls that are right in one turn, read from how Python would make them. Throws where one cannot be read. */
export function turnAnswers(written: readonly string[], functions: readonly BfclFunction[]): AcceptedCall[] {
  return written.map((text) => {
    const { name, positional, named } = parsePythonCall(text)
    const found = functions.find((one) => one.name === name)
    if (found === undefined) throw new SyntaxError(`"${text}" calls a function that is not offered`)
    const { properties } = found.parameters
    const names = Object.keys(properties)
    const given = {
      ...Object.fromEntries(positional.map((value, at) => [names[at] ?? `argument ${at + 1}`, value])),
      ...named,
    }
    const params: Record<string, readonly unknown[]> = {}
    for (const [parameter, value] of Object.entries(given)) {
      if (!Object.hasOwn(properties, parameter)) throw new SyntaxError(`"${text}" has no parameter ${parameter}`)
      const isDefault = sameJson(properties[parameter]?.default, value)
      params[parameter] = isDefault ? [accepting(value), ''] : [accepting(value)]
    }
    // To say what holds anyway changes nothing.
    for (const [parameter, { default: preset }] of Object.entries(properties)) {
      if (preset !== undefined && params[parameter] === undefined) params[parameter] = ['', accepting(preset)]
    }
    return { name, params }
  })
}

/** A value in the form of the accepted ones, in which each entry of an object has a list of its own. */
function accepting(value: unknown): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, [inner]]))
}

/** Judges each turn by its own calls, in their order; the first turn that is wrong decides. */
export function checkTurns(
  turns: readonly ObservedTurn[],
  answers: readonly (readonly AcceptedCall[])[],
  functions: readonly BfclFunction[],
): Verdict {
  for (const [at, accepted] of answers.entries()) {
    const verdict = checkTurn(turns[at]?.calls ?? [], accepted, functions)
    if (!verdict.passed) return { ...verdict, message: `Turn ${at + 1}: ${verdict.message}` }
  }
  return { passed: true }
}

function checkTurn(
  calls: ObservedTurn['calls'],
  accepted: readonly AcceptedCall[],
  functions: readonly BfclFunction[],
): Verdict {
  const [unwanted] = calls
  if (accepted.length > 0 || unwanted === undefined) {
    return checkCallsInOrder(calls, accepted, { functions, language: 'python' })
  }
  const { tool } = unwanted
  const message = `Called ${plainName(tool)}, expected no call.`
  return { passed: false, kind: 'unwanted_call', message, tool, expected: [], actual: calls.map((call) => call.tool) }
}
