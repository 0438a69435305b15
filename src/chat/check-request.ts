import {
  ABOVE_ZERO,
  COUNT,
  checkNested,
  checkNumber,
  checkObject,
  contextProblem,
  described,
  wrongType,
} from '../core/check-options.ts'
import { checkPrices, checkSampling } from '../models/check-numbers.ts'
import type { Message, ToolCall } from '../models/model.ts'
import type { RunRequest } from './run.ts'

const RUN = 'ToolLoop.run'
const BUDGET = { wall_time_ms: ABOVE_ZERO, tokens: COUNT, cost: ABOVE_ZERO } as const

const REQUEST: Readonly<Record<keyof RunRequest, true>> = {
  ...{ model: true, messages: true, service: true, allowed_tools: true, ask_writes: true, client_tools: true },
  ...{ prior_calls: true, tool_choice: true, output: true, cache_key: true, max_iterations: true, max_tokens: true },
  ...{ temperature: true, budget: true, prices: true, context: true, parent_run: true, agent: true, mocked: true },
  journal: true,
}

const OUTPUT = { schema: true, refinement: true } as const

/** Throws for options that there are not, and for numbers that would silently not limit a run: each comparison with NaN is false. */
export function checkRequest(request: RunRequest): void {
  checkObject(RUN, request, REQUEST)
  const { max_iterations, budget, messages, output, prices, context } = request
  const problem = context && contextProblem(context)
  if (problem !== undefined) throw new TypeError(`${RUN}: context${problem}`)
  checkMessages(RUN, messages)
  if (output !== undefined) checkNested(RUN, 'output', output, OUTPUT)
  if (max_iterations !== undefined) checkNumber(RUN, 'max_iterations', max_iterations, COUNT)
  checkSampling(RUN, request)
  if (budget !== undefined) checkNested(RUN, 'budget', budget, BUDGET)
  for (const name of ['wall_time_ms', 'tokens', 'cost'] as const) {
    if (budget?.[name] !== undefined) checkNumber(RUN, `budget.${name}`, budget[name], BUDGET[name])
  }
  if (prices !== undefined) checkPrices(RUN, prices)
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
