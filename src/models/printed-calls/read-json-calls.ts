import { isObject } from '../../core/schema/schema-keywords.ts'
import { readJson } from '../read-json.ts'

/** A call read from text. The tool may not exist. */
export interface PrintedCall {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  /** All values are text; the schema decides on their types. */
  readonly untyped?: true
}

const NAME_KEYS = ['name', 'tool', 'tool_name', 'function', 'action'] as const
const ARGS_KEYS = ['arguments', 'parameters', 'args', 'params', 'input', 'tool_input', 'action_input'] as const
const WRAPPERS = ['function', 'function_call', 'tool_call', 'tool_calls'] as const
const BESIDE = ['id', 'type', 'index', 'tool_call_id'] as const

/** Keys that may come first in a call. */
export const CALL_KEYS: readonly string[] = [...NAME_KEYS, ...ARGS_KEYS, ...WRAPPERS, ...BESIDE]

const NAMES: ReadonlySet<string> = new Set(NAME_KEYS)
const ARGS: ReadonlySet<string> = new Set(ARGS_KEYS)
const OTHERS: ReadonlySet<string> = new Set(BESIDE)

/** Undefined unless the whole value consists of calls. */
export function readJsonCalls(value: unknown): PrintedCall[] | undefined {
  if (Array.isArray(value)) {
    const calls = value.map(readJsonCalls)
    return calls.length > 0 && calls.every((one) => one !== undefined) ? calls.flat() : undefined
  }
  if (!isObject(value)) return undefined
  for (const key of WRAPPERS) {
    const wrapped = value[key]
    if (typeof wrapped !== 'object' || wrapped === null) continue
    return Object.keys(value).every((one) => one === key || OTHERS.has(one)) ? readJsonCalls(wrapped) : undefined
  }
  const call = readCall(value)
  return call && [call]
}

/** Any other key makes it data, such as a person with a `name`, or a repeated tool definition. */
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

/** Some models write arguments as a JSON string, like OpenAI. */
function readArguments(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const args: unknown = typeof value === 'string' ? readJson(value) : value
  if (!isObject(args)) return undefined
  return args.type === 'object' && isObject(args.properties) ? undefined : args
}
