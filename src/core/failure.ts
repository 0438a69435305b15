import { mayHaveLeft, networkCode } from './network-code.ts'
import { TOOL_ERRORS } from './tool-error-code.ts'
import { ToolExecutionError } from './tool-execution-error.ts'

const LONGEST_MESSAGE = 2_000

const NO_REASON = 'The tool failed without saying why'

/** Whatever a handler threw, as the one error of the system. Told apart by codes, never by text. Never throws. */
export function asToolError(thrown: unknown, tool: string): ToolExecutionError {
  try {
    return understood(thrown, tool)
  } catch {
    // A proxy can refuse even to say what it is.
    return new ToolExecutionError('EXECUTION_ERROR', NO_REASON)
  }
}

function understood(thrown: unknown, tool: string): ToolExecutionError {
  if (thrown instanceof ToolExecutionError && isSound(thrown)) return thrown
  const code = networkCode(thrown)
  if (code !== undefined) {
    const extras = mayHaveLeft(code) ? { outcome: 'unknown' as const } : {}
    return new ToolExecutionError('SERVICE_UNAVAILABLE', unavailable(tool), extras, { cause: thrown })
  }
  return new ToolExecutionError('EXECUTION_ERROR', messageOf(thrown), {}, { cause: thrown })
}

/** A handler may have made or changed the error that it throws: only a code of the table goes on. */
const isSound = ({ code, message, extras }: ToolExecutionError): boolean =>
  Object.hasOwn(TOOL_ERRORS, code) && typeof message === 'string' && typeof extras === 'object' && extras !== null

/** The sentence for a tool whose service cannot be reached: no address, no secret. */
export const unavailable = (tool: string): string =>
  `The service behind tool '${tool}' is unavailable. Try again later.`

function messageOf(thrown: unknown): string {
  const text = typeof thrown === 'string' ? thrown : readMessage(thrown)
  if (text === undefined || text.trim() === '') return NO_REASON
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text
}

function readMessage(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined
  try {
    const { message } = thrown as { message?: unknown }
    return typeof message === 'string' ? message : undefined
  } catch {
    // A thrown object is a stranger's: its properties may be getters that throw.
    return undefined
  }
}
