import { parseJson } from '../../core/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'
import type { PrintedCall } from './printed-call.ts'

const NAME_KEYS = ['name', 'tool', 'tool_name', 'function', 'action'] as const
const ARGS_KEYS = ['arguments', 'parameters', 'args', 'params', 'input', 'tool_input', 'action_input'] as const
const WRAPPERS = ['function', 'function_call', 'tool_call', 'tool_calls'] as const
const BESIDE = ['id', 'type', 'index', 'tool_call_id'] as const

/** Every key that can stand first in a call. */
export const CALL_KEYS: readonly string[] = [...NAME_KEYS, ...ARGS_KEYS, ...WRAPPERS, ...BESIDE]

const NAMES: ReadonlySet<string> = new Set(NAME_KEYS)
const ARGS: ReadonlySet<string> = new Set(ARGS_KEYS)
const OTHERS: ReadonlySet<string> = new Set(BESIDE)

/** The calls that a JSON value is; undefined where it is anything else, in the whole or in a part. */
export function readJsonCalls(value: unknown): PrintedCall[] | undefined {
  if (Array.isArray(value)) {
    const calls = value.map(readJsonCalls)
    return calls.length > 0 && calls.every((one) => one !== undefined) ? calls.flat() : undefined
  }
  if (!isRecord(value)) return undefined
  for (const key of WRAPPERS) {
    const wrapped = value[key]
    if (typeof wrapped !== 'object' || wrapped === null) continue
    return Object.keys(value).every((one) => one === key || OTHERS.has(one)) ? readJsonCalls(wrapped) : undefined
  }
  const call = readCall(value)
  return call && [call]
}

/** With any other key it is data: a person with a `name`, or the definition of a tool said back. */
function readCall(value: Readonly<Record<string, unknown>>): PrintedCall | undefined {
  let name: string | undefined
  let args: Readonly<Record<string, unknown>> | undefined
  for (const [key, one] of Object.entries(value)) {
    if (NAMES.has(key) && name === undefined && typeof one === 'string') name = one
    else if (ARGS.has(key) && args === undefined) args = readArguments(one)
    else if (!OTHERS.has(key)) return undefined
  }
  return name === undefined || args === undefined ? undefined : { name, args }
}

/** Some models write the arguments as OpenAI does: JSON within JSON. */
function readArguments(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const args: unknown = typeof value === 'string' ? readJson(value) : value
  if (!isRecord(args)) return undefined
  return args.type === 'object' && isRecord(args.properties) ? undefined : args
}

/** Undefined if the text isn't JSON, or is nested too deeply. */
export function readJson(text: string): unknown {
  try {
    return parseJson(text, LIMITS.bodyDepth)
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
