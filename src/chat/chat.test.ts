import { describe, expect, test, vi } from 'vitest'
import { never } from '../core/fixtures/code-yard.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import { ModelCatalogue } from '../models/model-catalogue.ts'
import { type GivenTurn, scripted } from '../testing/stand-ins.ts'
import { Chat, ToolRefusedError } from './chat.ts'
import { loopSetup, told, wellFormed } from './fixtures/loop-setup.ts'
import { NoResponseRuleError, ResponseRules } from './response-rules.ts'

/** A chat with one rule for weather questions and a scripted model. */
function chatYard(...turns: GivenTurn[]) {
  const runs: StoredRun[] = []
  const { loop, registry, executor, add, records } = loopSetup({ onRun: (run) => void runs.push(run) })
  const model = scripted(...turns)
  const models = new ModelCatalogue([{ name: 'scripted', model: () => model }])
  const rule = { match: { intent_regexp: '/weather/' }, llm: 'scripted', model: 'turns', prompt: 'Be brief.' }
  const chat = new Chat({ rules: new ResponseRules([rule]), models, loop, registry, executor })
  return { chat, model, add, executor, records, runs }
}

const location = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] }
const PARIS = { message: 'How is the weather?', tool_name: 'get_weather', tool_params: { location: 'Paris' } }

describe('a message with tool_name', () => {
  test('runs the tool first and shows its result to the model', async () => {
    const { chat, add, model } = chatYard('Blue.')
    add('get_weather', () => ({ sky: 'blue' }), { parameters: location })
    const { content, tool_calls } = await chat.answer(PARIS)
    expect(content).toBe('Blue.')
    expect(tool_calls).toMatchObject([
      { tool: 'get_weather', params: { location: 'Paris' }, result: { success: true }, iteration: 0 },
    ])
    const messages = model.requests[0]?.messages ?? []
    expect(messages).toMatchObject([
      { role: 'system' },
      { role: 'user', content: 'How is the weather?' },
      { role: 'assistant', tool_calls: [{ function: { name: 'get_weather', arguments: '{"location":"Paris"}' } }] },
      { role: 'tool', name: 'get_weather', content: JSON.stringify(tool_calls[0]?.result) },
    ])
    expect(wellFormed(messages)).toBe(true)
  })

  test('records the call as the first step of the run', async () => {
    const { chat, add, executor, records, runs } = chatYard('Blue.')
    add('get_weather', () => ({ sky: 'blue' }), { parameters: location })
    await chat.answer({ ...PARIS, context: { runId: 'run-1', source: 'rest' } })
    executor.flush()
    expect(records).toMatchObject([{ tool: 'get_weather', runId: 'run-1', source: 'rest' }])
    expect(runs).toMatchObject([
      {
        id: 'run-1',
        tool_calls: 1,
        steps: [
          { type: 'tool', iteration: 0 },
          { type: 'model', iteration: 1 },
        ],
      },
    ])
    const [run] = runs
    expect(run?.steps[0]?.started_at).toBe(run?.started_at)
  })

  test('streams events of the call', async () => {
    const { chat, add } = chatYard('Blue.')
    add(
      'get_weather',
      (_, { report }) => {
        report('half')
        return 1
      },
      { parameters: location },
    )
    const { events, answer } = await told(chat.run(PARIS))
    expect(events.map(({ type }) => type)).toEqual(['call-progress', 'call-result', 'text-delta', 'answer'])
    expect(answer.tool_calls).toHaveLength(1)
  })

  test.each<[string, object, string]>([
    ['unknown', { tool_name: 'get_whether' }, 'TOOL_NOT_FOUND'],
    ['invalid', { tool_params: {} }, 'INVALID_PARAMETERS'],
    ['no JSON', { tool_params: 1n }, 'INVALID_PARAMETERS'],
    ['denied', { tool_name: 'secret' }, 'PERMISSION_DENIED'],
    ['limited', { tool_name: 'limited' }, 'RATE_LIMITED'],
  ])('rejects with the result and asks no model if the call is %s', async (_, change, code) => {
    const { chat, add, model, runs, executor } = chatYard('Blue.', 'Blue.')
    add('get_weather', () => 1, { parameters: location })
    add('secret', () => 1, { permissions: ['secrets'] })
    add('limited', () => 1, { rate_limit: { calls: 1, per_ms: 60_000 } })
    await executor.execute('limited', {})
    const asked = { ...PARIS, ...change }
    await expect(chat.answer(asked)).rejects.toThrow(ToolRefusedError)
    await expect(chat.run(asked).next()).rejects.toMatchObject({ result: { success: false, error_code: code } })
    expect(model.requests).toEqual([])
    expect(runs).toEqual([])
  })

  test('asks the model about a tool that failed while running', async () => {
    const { chat, add, model } = chatYard('It is broken.')
    add(
      'get_weather',
      () => {
        throw new Error('no thermometer')
      },
      { parameters: location },
    )
    expect(await chat.answer(PARIS)).toMatchObject({
      content: 'It is broken.',
      tool_calls: [{ result: { success: false, error: 'no thermometer' } }],
    })
    expect(model.requests[0]?.messages.at(-1)?.content).toContain('no thermometer')
  })

  test('asks no model if the caller cancels', async () => {
    const { chat, add, model } = chatYard('Blue.')
    const controller = new AbortController()
    add(
      'get_weather',
      () => {
        controller.abort()
        return never()
      },
      { parameters: location },
    )
    expect(await chat.answer({ ...PARIS, context: { signal: controller.signal } })).toMatchObject({
      stop_reason: 'cancelled',
      tool_calls: [{ result: { error_code: 'CANCELLED' } }],
    })
    expect(model.requests).toEqual([])
  })

  test('runs nothing if no rule matches', async () => {
    const { chat, add } = chatYard()
    const run = vi.fn(() => 1)
    add('get_weather', run, { parameters: location })
    await expect(chat.answer({ ...PARIS, message: 'Hello' })).rejects.toThrow(NoResponseRuleError)
    await expect(chat.answer({ ...PARIS, model: 'nobody:m' })).rejects.toThrow('Provider nobody not found')
    expect(run).not.toHaveBeenCalled()
  })
})
