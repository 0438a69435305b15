import { describe, expect, test } from 'vitest'
import { scripted } from '../testing/stand-ins.ts'
import { GO, loopSetup } from './fixtures/loop-setup.ts'

describe('a run', () => {
  test.each<[request: object, message: string]>([
    ...[Number.NaN, Number.POSITIVE_INFINITY, 0, -1, '5', null].flatMap<[object, string]>((number) => [
      [{ max_iterations: number }, 'max_iterations must be an integer of 1 or more, not '],
      [{ max_tokens: number }, 'max_tokens must be an integer of 1 or more, not '],
      [{ budget: { tokens: number } }, 'budget.tokens must be an integer of 1 or more, not '],
      [{ budget: { cost: number } }, 'budget.cost must be a number above 0, not '],
      [{ budget: { wall_time_ms: number } }, 'budget.wall_time_ms must be a number above 0, not '],
    ]),
    [{ maxIterations: 1 }, 'unknown option "maxIterations". Did you mean "max_iterations"?'],
    [{ max_iteration: 1 }, 'unknown option "max_iteration". Did you mean "max_iterations"?'],
    [{ budgets: { tokens: 1 } }, 'unknown option "budgets". Did you mean "budget"?'],
    [
      { budget: new Map([['tokens', 1]]) },
      'budget must be an object with wall_time_ms, tokens, cost, not an object that ',
    ],
    [{ context: { tenent: 'acme' } }, 'context: unknown key "tenent". Did you mean "tenant"?'],
    [{ context: { flags: 'admin' } }, 'context: flags must be an object, not "admin"'],
    [{ temperature: Number.NaN }, 'temperature must be a number from 0 to 2, not NaN'],
    [{ budget: null }, 'budget must be an object with wall_time_ms, tokens, cost, not null'],
    [{ budget: 5 }, 'budget must be an object with wall_time_ms, tokens, cost, not 5'],
    [{ budget: { wallTimeMs: 5 } }, 'budget: unknown option "wallTimeMs". Did you mean "wall_time_ms"?'],
    [{ prices: { input: 1 } }, 'prices.output must be a number of 0 or more, not undefined'],
    [{ prices: { input: Number.NaN, output: 1 } }, 'prices.input must be a number of 0 or more, not NaN'],
    [{ prices: { input: 1, output: 1, cached: 1 } }, 'prices: unknown option "cached". Did you mean "cached_input"?'],
    [{ tool_choice: 'look' }, 'tool_choice must be "required" or an object with the name of a tool, not "look"'],
    [{ tool_choice: {} }, 'tool_choice must be "required" or an object with the name of a tool, not an object'],
    [{ journal: {} }, 'journal must be a journal with steps and append(), not an object'],
    [{ prior_calls: [{ tool: 'look' }] }, 'prior_calls must be an array of calls with tool, params and result, not an'],
    [{ client_tools: [null] }, 'client_tools must be an array of tools with name, description and parameters, not an'],
    [{ allowed_tools: [null] }, 'allowed_tools must be an array of names, not an array'],
    [{ ask_writes: 'yes' }, 'ask_writes must be true or false, not "yes"'],
    [{ mocked: 'yes' }, 'mocked must be true, not "yes"'],
    [{ agent: 5 }, 'agent must be a string that is not empty, not 5'],
    [{ parent_run: {} }, 'parent_run must be a string, not an object'],
    [{ service: null }, 'service must be a string, not null'],
    [{ output: 5 }, 'output must be an object with schema, refinement, not 5'],
    [
      { output: { schema: { type: 'object', $ref: '#/$defs/none' } } },
      'output cannot be used: $ref "#/$defs/none" has no',
    ],
    [{ output: { schema: { type: 'objet' } } }, 'output cannot be used: '],
    [
      { output: { schema: JSON.parse('{"type":"object","properties":{"__proto__":{}}}') } },
      'output cannot be used: the schema has a property "__proto__", which can\'t be checked here: rename it',
    ],
    [
      { messages: [{ role: 'wizard', content: 'Hi' }] },
      'messages[0].role must be system, user, assistant or tool, not "',
    ],
  ])('is refused with %j, before the model is asked', async (request, message) => {
    const { loop } = loopSetup()
    const model = scripted('Never said.')
    await expect(loop.answer({ model, messages: GO, ...request })).rejects.toThrow(`ToolLoop.run: ${message}`)
    expect(model.requests).toEqual([])
  })
})

test('a loop is not made with unknown options', () => {
  const message = 'ToolLoop: unknown option "max_iterations". Did you mean "maxIterations"?'
  expect(() => loopSetup({ max_iterations: 1 } as object)).toThrow(new TypeError(message))
  for (const discovery of [5, [], new Map()]) {
    expect(() => loopSetup({ discovery: discovery as object })).toThrow('discovery: options must be an object, not ')
  }
  const slip = { discovery: { max_tool_token: 5 } as object }
  expect(() => loopSetup(slip)).toThrow('discovery: unknown option "max_tool_token". Did you mean "max_tool_tokens"?')
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, 0, '5'])('a loop is not made with limits of %s', (number) => {
  const words = 'must be an integer of 1 or more, not '
  expect(() => loopSetup({ maxIterations: number as number })).toThrow(`ToolLoop: maxIterations ${words}`)
  expect(() => loopSetup({ maxParallelCalls: number as number })).toThrow(`ToolLoop: maxParallelCalls ${words}`)
  const discovery = { max_tool_tokens: number as number }
  expect(() => loopSetup({ discovery })).toThrow('discovery: max_tool_tokens must be a number above 0, not ')
})

test('a loop is not made with options of a wrong type', () => {
  expect(() => loopSetup({ gate: {} } as never)).toThrow(
    new TypeError('ToolLoop: gate must be a function, not an object'),
  )
  const always = { discovery: { always: [5] as never } }
  expect(() => loopSetup(always)).toThrow(
    'discovery: always must be an array of patterns, such as ["orders_*"], not an',
  )
})
