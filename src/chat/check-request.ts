import type { CallContext } from '../core/call-context.ts'
import {
  ABOVE_ZERO,
  anything,
  boolean,
  type Checks,
  COUNT,
  checkAll,
  contextProblem,
  described,
  isRecord,
  listOf,
  must,
  nested,
  nonEmpty,
  number,
  string,
  stringList,
  wrongType,
} from '../core/check-options.ts'
import { checkPrices } from '../models/check-numbers.ts'
import type { Message, OfferedTool, ToolCall } from '../models/model.ts'
import type { ModelPrices } from '../models/model-info.ts'
import type { Journal } from './journal.ts'
import type { RunRequest } from './run.ts'

const RUN = 'ToolLoop.run'

const isNamed = (one: unknown): boolean => typeof Object(one).name === 'string' && Object(one).name !== ''
const isResult = (result: unknown): boolean => typeof Object(result).success === 'boolean'

const REQUEST: Checks<RunRequest> = {
  model: must('a model with id and stream()', (model) => typeof Object(model).stream === 'function'),
  messages: (method, _, messages) => checkMessages(method, messages as readonly Message[]),
  ...{ service: string, allowed_tools: stringList, ask_writes: boolean, cache_key: string, parent_run: string },
  client_tools: must('an array of tools with name, description and parameters', listOf(isOffered)),
  prior_calls: must(
    'an array of calls with tool, params and result',
    listOf((one) => typeof Object(one).tool === 'string' && isResult(Object(one).result)),
  ),
  tool_choice: must('"required" or an object with the name of a tool', (one) => one === 'required' || isNamed(one)),
  output: nested({ schema: anything, refinement: anything }),
  ...{ max_iterations: number(COUNT), max_tokens: number(COUNT), temperature: number({ min: 0, max: 2 }) },
  budget: nested({ wall_time_ms: number(ABOVE_ZERO), tokens: number(COUNT), cost: number(ABOVE_ZERO) }),
  prices: (method, _, prices) => checkPrices(method, prices as ModelPrices),
  context(method, _, context) {
    const problem = contextProblem(context as CallContext)
    if (problem !== undefined) throw new TypeError(`${method}: context${problem}`)
  },
  agent: nonEmpty,
  mocked: must('true', (value) => value === true),
  journal: must('a journal with steps and append()', isJournal),
}

/** Throws for options that don't exist, and for values that would silently not limit a run: each comparison with NaN is false. */
export function checkRequest(request: RunRequest): void {
  checkAll(RUN, request, REQUEST)
  for (const name of ['model', 'messages'] as const) {
    if (request[name] === undefined) REQUEST[name](RUN, name, undefined)
  }
}

function isOffered(one: unknown): boolean {
  const { description, parameters } = Object(one) as Partial<OfferedTool>
  return isNamed(one) && typeof description === 'string' && isRecord(parameters)
}

function isJournal(journal: unknown): boolean {
  const { steps, append } = Object(journal) as Partial<Journal>
  return Array.isArray(steps) && typeof append === 'function'
}

/** What the contents of each role may be. */
const CONTENTS: Readonly<Record<Message['role'], { readonly wanted: string; fits(content: unknown): boolean }>> = {
  system: { wanted: 'a string', fits: isString },
  user: { wanted: 'a string or an array of parts with a type', fits: isContent },
  assistant: { wanted: 'a string or null', fits: (content) => content === null || isString(content) },
  tool: { wanted: 'a string or an array of parts with a type', fits: isContent },
}

/** Throws a TypeError that names the message if a model would get something that isn't one. */
export function checkMessages(method: string, messages: readonly Message[]): void {
  if (!Array.isArray(messages)) throw wrongType(method, 'messages', LIST, messages)
  // Array.from() also visits the holes of a sparse array.
  for (const [index, message] of Array.from<unknown>(messages).entries()) {
    const place = `messages[${index}]`
    if (typeof message !== 'object' || message === null) throw wrongType(method, place, ONE, message)
    const { role, content, tool_calls, tool_call_id } = message as Readonly<Record<string, unknown>>
    if (!isString(role) || !Object.hasOwn(CONTENTS, role)) {
      throw new TypeError(`${method}: ${place}.role must be ${ROLES}, not ${described(role)}`)
    }
    const { wanted, fits } = CONTENTS[role as Message['role']]
    if (!fits(content)) throw wrongType(method, `${place}.content`, wanted, content)
    if (role === 'tool' && !isString(tool_call_id)) {
      throw wrongType(method, `${place}.tool_call_id`, 'the id of a call', tool_call_id)
    }
    if (role === 'assistant' && tool_calls !== undefined && !isCalls(tool_calls)) {
      throw wrongType(method, `${place}.tool_calls`, 'an array of calls with an id and a function', tool_calls)
    }
  }
}

const LIST = "an array of messages, such as [{role: 'user', content: 'Hi'}]"
const ONE = "an object such as {role: 'user', content: 'Hi'}"
const ROLES = 'system, user, assistant or tool'

function isString(value: unknown): value is string {
  return typeof value === 'string'
}

function isContent(content: unknown): boolean {
  const isPart = (part: unknown) => isString((Object(part) as { readonly type?: unknown }).type)
  return isString(content) || (Array.isArray(content) && Array.from(content).every(isPart))
}

function isCalls(calls: unknown): boolean {
  return (
    Array.isArray(calls) &&
    Array.from<Partial<ToolCall>>(calls).every((call) => {
      const { id, function: called } = Object(call) as Partial<ToolCall>
      return isString(id) && isString(called?.name) && isString(called?.arguments)
    })
  )
}
