import { AssertionError } from 'node:assert'
import { inspect, isDeepStrictEqual } from 'node:util'
import type { ToolErrorCode, ToolFailure, ToolResult, ToolSuccess } from '../core/tool-result.ts'

type Equals = (one: unknown, other: unknown) => boolean

/** What `envelopeMatchers` add to `expect` of vitest and Jest. */
export interface EnvelopeMatchers<Returned = unknown> {
  /** The call succeeded; with this result, if one is given. */
  toSucceedWith(result?: unknown): Returned
  /** The call failed with this code, and with a message that contains the text or matches the pattern. */
  toFailWith(code: ToolErrorCode, message?: string | RegExp): Returned
}

/** The part of `this` that the matchers use. It understands `expect.any()` and the like. */
interface MatcherState {
  readonly equals: Equals
}

/** For `expect.extend(envelopeMatchers)` of vitest and Jest. */
export const envelopeMatchers = {
  toSucceedWith(this: MatcherState, envelope: unknown, ...result: readonly unknown[]) {
    return outcome(successProblem(envelope, result, this.equals), `${named(envelope)} succeeded`)
  },
  toFailWith(this: MatcherState, envelope: unknown, code: ToolErrorCode, message?: string | RegExp) {
    return outcome(failureProblem(envelope, code, message), `${named(envelope)} failed with ${code}`)
  },
}

/** Throws an AssertionError unless the call succeeded; with this result, if one is given. For any test runner. */
export function assertSuccess<Result>(
  envelope: ToolResult<Result>,
  ...result: readonly [expected?: NoInfer<Result>]
): asserts envelope is ToolSuccess<Result> {
  refuse(successProblem(envelope, result, isDeepStrictEqual), envelope, assertSuccess)
}

/** Throws an AssertionError unless the call failed with this code, and with this message if one is given. */
export function assertFailure(
  envelope: ToolResult,
  code: ToolErrorCode,
  message?: string | RegExp,
): asserts envelope is ToolFailure {
  refuse(failureProblem(envelope, code, message), envelope, assertFailure)
}

function refuse(message: string | undefined, actual: unknown, stackStartFn: (...args: never[]) => unknown): void {
  if (message !== undefined) throw new AssertionError({ message, actual, stackStartFn })
}

const outcome = (problem: string | undefined, opposite: string) => ({
  pass: problem === undefined,
  message: () => problem ?? `Expected otherwise, but ${opposite}`,
})

const isEnvelope = (value: unknown): value is ToolResult => typeof Object(value).success === 'boolean'
const named = (value: unknown): string => (isEnvelope(value) ? `'${value.tool_name}'` : inspect(value))
const NO_ENVELOPE = 'Expected an envelope: await the call, and pass what it resolves to. Received '

function successProblem(envelope: unknown, expected: readonly unknown[], equals: Equals): string | undefined {
  if (!isEnvelope(envelope)) return NO_ENVELOPE + inspect(envelope)
  const { tool_name } = envelope
  if (!envelope.success) return `'${tool_name}' failed with ${envelope.error_code}: ${envelope.error}`
  if (expected.length === 0 || equals(envelope.result, expected[0])) return undefined
  return `'${tool_name}' returned ${inspect(envelope.result)}, not ${inspect(expected[0])}`
}

function failureProblem(envelope: unknown, code: ToolErrorCode, message?: string | RegExp): string | undefined {
  if (!isEnvelope(envelope)) return NO_ENVELOPE + inspect(envelope)
  const { tool_name } = envelope
  if (envelope.success) return `'${tool_name}' succeeded with ${inspect(envelope.result)} and should fail with ${code}`
  const { error_code, error } = envelope
  if (error_code !== code) return `'${tool_name}' failed with ${error_code} and not with ${code}: ${error}`
  const fits =
    message === undefined || (typeof message === 'string' ? error.includes(message) : error.search(message) >= 0)
  return fits ? undefined : `'${tool_name}' failed with the message ${inspect(error)}, not with ${inspect(message)}`
}
