import { type Message, type Model, type RunRequest, silentLog, ToolLoop, ToolManager } from 'toolyard'
import { scripted } from 'toolyard/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { withTools } from './fixtures/tool-manager.ts'

const ask = (text = 'Go'): Message[] => [{ role: 'user', content: text }]
const call = (name: string, args: unknown = {}) => ({ calls: [{ name, arguments: args }] })
const location = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] }

/** Opens these tools, and `weather`, with a loop. */
async function looped(tools: Parameters<typeof withTools>[0] = {}, options: { maxParallelCalls?: number } = {}) {
  const weather = vi.fn(async (params: object) => ({ ...params, sky: 'blue' }))
  const { registry, executor, log } = await withTools({ weather: { run: weather, parameters: location }, ...tools })
  const loop = new ToolLoop(registry, executor, { log, ...options })
  const answer = (model: Model, rest: Partial<RunRequest> = {}) => loop.answer({ model, messages: ask(), ...rest })
  return { loop, answer, log, weather }
}

const paris = call('weather', { location: 'Paris' })
const city = (n: number) => call('weather', { location: `city ${n}` })

describe('Loop', () => {
  test('[4.1-1] runs until the model stops or the limit is reached', async () => {
    const { answer, weather } = await looped()
    const model = scripted(paris, call('weather', { location: 'Rome' }), 'Blue in both.')
    expect(await answer(model)).toMatchObject({ content: 'Blue in both.', stop_reason: 'stop' })
    expect(weather.mock.calls.map(([params]) => params)).toEqual([{ location: 'Paris' }, { location: 'Rome' }])
    expect(model.requests).toHaveLength(3)
    const limited = scripted(city(1), city(2), 'Enough.')
    expect(await answer(limited, { max_iterations: 2 })).toMatchObject({ stop_reason: 'max_iterations' })
  })

  test('[4.1-2] takes max_iterations from the rule, else from the configuration, else 5', async () => {
    const turns = Array.from({ length: 9 }, (_, n) => city(n))
    const iterations = async (config: object, rule: Partial<RunRequest>) => {
      const registry = [{ ...TOOL, parameters: location }]
      const manager = new ToolManager({ tools: { enabled: true, registry, ...config } }, { log: silentLog })
      onTestFinished(() => manager.close())
      await manager.loadTools()
      const run = { model: scripted(...turns), messages: ask(), ...rule }
      return (await manager.getLoop().answer(run)).tool_calls.length
    }
    expect(await iterations({ max_iterations: 3 }, { max_iterations: 2 })).toBe(2)
    expect(await iterations({ max_iterations: 3 }, {})).toBe(3)
    expect(await iterations({}, {})).toBe(5)
  })

  test('[4.1-3] counts model turns that ask for tools, from 1', async () => {
    const { answer } = await looped()
    const { tool_calls } = await answer(scripted({ calls: [...city(1).calls, ...city(2).calls] }, city(3), 'Done.'))
    expect(tool_calls.map(({ iteration }) => iteration)).toEqual([1, 1, 2])
  })

  test('[4.1-4] runs the calls of the last iteration', async () => {
    const { answer, weather } = await looped()
    const { tool_calls } = await answer(scripted(city(1), city(2), 'Enough.'), { max_iterations: 2 })
    expect(weather).toHaveBeenCalledTimes(2)
    expect(tool_calls[1]?.result.success).toBe(true)
  })

  test("[4.1-5] sends the assistant's tool calls and one message per call", async () => {
    const { answer } = await looped()
    const model = scripted({ calls: [...city(1).calls, ...city(2).calls] }, 'Done.')
    const { tool_calls } = await answer(model)
    const [, assistant, first, second] = model.requests[1]?.messages ?? []
    expect(assistant).toMatchObject({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1' }, { id: 'call_2' }],
    })
    expect(first).toEqual({
      role: 'tool',
      tool_call_id: 'call_1',
      name: 'weather',
      content: JSON.stringify(tool_calls[0]?.result),
    })
    expect(second).toMatchObject({ tool_call_id: 'call_2', content: JSON.stringify(tool_calls[1]?.result) })
  })

  test('[4.1-6] answers with content, service, model, tool_calls and stop_reason', async () => {
    const { answer } = await looped()
    expect(await answer(scripted('Hello.'))).toEqual({
      content: 'Hello.',
      service: 'scripted',
      model: 'turns',
      tool_calls: [],
      stop_reason: 'stop',
    })
  })

  test("[4.1-7] names the rule's llm as service and its model without the provider", async () => {
    const { answer } = await looped()
    const model = { ...scripted('Hello.'), id: 'ollama:llama3.2:3b' }
    expect(await answer(model, { service: 'house' })).toMatchObject({ service: 'house', model: 'llama3.2:3b' })
    expect(await answer({ ...scripted('Hello.'), id: 'ollama:llama3.2:3b' })).toMatchObject({ service: 'ollama' })
  })

  test('[4.1-8] lists every call with tool, params, result and iteration', async () => {
    const { answer } = await looped()
    expect((await answer(scripted('Nothing to do.'))).tool_calls).toEqual([])
    const { tool_calls } = await answer(scripted(paris, call('weather', '{not json'), 'Done.'))
    expect(tool_calls).toEqual([
      {
        tool: 'weather',
        params: { location: 'Paris' },
        result: {
          success: true,
          result: { location: 'Paris', sky: 'blue' },
          tool_name: 'weather',
          execution_time_ms: expect.any(Number),
        },
        iteration: 1,
      },
      { tool: 'weather', params: '{not json', result: expect.objectContaining({ success: false }), iteration: 2 },
    ])
  })

  test('[4.1-9] gives one of the known stop reasons', async () => {
    const { answer } = await looped({ slow: { run: () => new Promise(() => {}) } })
    const usage = { prompt_tokens: 900, completion_tokens: 100, total_tokens: 1_000 }
    const reasons = [
      await answer(scripted('Hello.')),
      await answer(scripted(city(1), 'Enough.'), { max_iterations: 1 }),
      await answer(scripted(paris, paris, paris, paris, 'Enough.')),
      await answer(scripted(call('slow')), { budget: { wall_time_ms: 50 } }),
      await answer(scripted({ ...paris, usage }, 'Enough.'), { budget: { tokens: 1_500 } }),
      await answer(scripted({ text: 'Cut', reason: 'length' })),
      await answer(scripted({ text: 'Cut', reason: 'content_filter' })),
      await answer(scripted(new Error('down'))),
      await answer(scripted('Hello.'), { context: { signal: AbortSignal.abort() } }),
    ].map(({ stop_reason }) => stop_reason)
    expect(reasons).toEqual([
      'stop',
      'max_iterations',
      'repeated_calls',
      'timeout',
      'budget',
      'length',
      'content_filter',
      'error',
      'cancelled',
    ])
  })

  test('[4.1-10] offers only allowed tools and refuses calls of others as not found', async () => {
    const secret = vi.fn()
    const { answer } = await looped({ secret: { run: secret }, closed: { run: secret, permissions: ['admin'] } })
    const offered = async (allowed_tools?: string[]) => {
      const model = scripted('Hello.')
      await answer(model, allowed_tools && { allowed_tools })
      return model.requests[0]?.tools.map(({ name }) => name)
    }
    expect(await offered()).toEqual(['weather', 'secret'])
    expect(await offered(['weather'])).toEqual(['weather'])
    expect(await offered([])).toEqual([])
    const stubborn = scripted(call('secret'), call('closed'), 'I may not.')
    const { tool_calls } = await answer(stubborn, { allowed_tools: ['weather'] })
    expect(tool_calls.map(({ result }) => result)).toMatchObject([
      { error_code: 'TOOL_NOT_FOUND', error: "Tool 'secret' not found" },
      { error_code: 'TOOL_NOT_FOUND', error: "Tool 'closed' not found" },
    ])
    expect(secret).not.toHaveBeenCalled()
  })

  test('[4.1-11] says that it reached the maximum number of tool calls', async () => {
    const { answer } = await looped()
    expect(await answer(scripted(city(1), 'It is blue.'), { max_iterations: 1 })).toMatchObject({
      content: 'I reached the maximum number of tool calls. Please try rephrasing your request.',
      max_iterations_reached: true,
    })
  })

  test('[4.1-12] asks once more without tools for final_answer at the limit', async () => {
    const { answer } = await looped()
    const model = scripted(city(1), 'It is blue.')
    expect(await answer(model, { max_iterations: 1 })).toMatchObject({ final_answer: 'It is blue.' })
    expect(model.requests[1]?.tools).toEqual([])
  })

  test('[4.1-13] generates without tools, with a warning, when there are none', async () => {
    const { answer, log } = await looped()
    const model = scripted('Hello.')
    expect(await answer(model, { allowed_tools: [] })).toMatchObject({ content: 'Hello.', stop_reason: 'stop' })
    expect(model.requests[0]?.tools).toEqual([])
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringMatching(/^No tools/) }),
    )
  })

  test('[4.1-14] warns about an unexpected finish reason', async () => {
    const { answer, log } = await looped()
    await answer(scripted({ text: 'Cut', reason: 'length' }))
    expect(log.at('warn')).toMatchObject([{ finish_reason: 'length' }])
  })

  test('[4.1-15] answers with the content, else with an apology, after an unexpected finish reason', async () => {
    const { answer } = await looped()
    expect((await answer(scripted({ text: 'Cut', reason: 'length' }))).content).toBe('Cut')
    expect((await answer(scripted({ reason: 'error' }))).content).toBe(
      'I encountered an issue processing your request.',
    )
  })

  test('[4.1-16] sends the envelope of a failed call back to the model', async () => {
    const broken = async () => {
      throw new Error('the thermometer broke')
    }
    const { answer } = await looped({ broken: { run: broken } })
    const model = scripted(call('broken'), 'Sorry, the thermometer broke.')
    const { content, stop_reason } = await answer(model)
    expect([content, stop_reason]).toEqual(['Sorry, the thermometer broke.', 'stop'])
    expect(JSON.parse(String(model.requests[1]?.messages.at(-1)?.content))).toMatchObject({
      success: false,
      error: 'the thermometer broke',
      error_code: 'EXECUTION_ERROR',
    })
  })

  test('[4.1-17] asks for one JSON object when arguments are malformed', async () => {
    const { answer, weather } = await looped()
    const malformed = ['{"location": ', '[1]', 'null', '{"location": "Paris"} {"location": "Rome"}']
    const { tool_calls } = await answer(
      scripted({ calls: malformed.map((text) => call('weather', text).calls[0]) as [] }, ''),
    )
    expect(tool_calls).toHaveLength(4)
    for (const { result } of tool_calls) {
      expect(result).toMatchObject({
        error_code: 'INVALID_PARAMETERS',
        error: expect.stringContaining('one JSON object'),
      })
    }
    expect(weather).not.toHaveBeenCalled()
  })

  test('[4.1-18] goes on after malformed arguments', async () => {
    const { answer } = await looped()
    const { content, tool_calls } = await answer(scripted(call('weather', '{"location'), paris, 'Blue.'))
    expect([content, tool_calls[1]?.result.success]).toEqual(['Blue.', true])
  })

  test('[4.1-19] runs two calls with the same tool and parameters', async () => {
    const { answer, weather } = await looped({ other: { run: async () => 1 } })
    const b = call('weather', '{"location":"Paris","units":"c"}')
    const a = call('weather', '{ "units": "c", "location": "Paris" }')
    const { tool_calls } = await answer(scripted(a, call('other'), b, 'Done.'))
    expect(tool_calls.map(({ result }) => result.success)).toEqual([true, true, true])
    expect(weather).toHaveBeenCalledTimes(2)
  })

  test('[4.1-20] refuses the third call with the same tool and parameters', async () => {
    const { answer, weather } = await looped()
    const { tool_calls, stop_reason } = await answer(scripted(paris, paris, paris, 'Blue, as I said.'))
    expect(weather).toHaveBeenCalledTimes(2)
    expect(tool_calls[2]?.result).toMatchObject({
      success: false,
      error: expect.stringContaining('already called twice'),
    })
    expect(stop_reason).toBe('stop')
  })

  test('[4.1-21] ends the loop at the fourth call with the same tool and parameters', async () => {
    const { answer, weather } = await looped()
    const model = scripted(paris, paris, paris, paris, 'Blue, as I said.')
    expect(await answer(model)).toMatchObject({ stop_reason: 'repeated_calls', content: 'Blue, as I said.' })
    expect(weather).toHaveBeenCalledTimes(2)
    expect(model.requests.at(-1)?.tools).toEqual([])
  })

  test('[4.1-22] runs the calls of a turn in parallel and keeps results in order', async () => {
    let running = 0
    let most = 0
    const waits = [30, 10, 20, 5, 1]
    const slow = async ({ n }: Record<string, unknown>) => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, waits[n as number]))
      running--
      return n
    }
    const { answer } = await looped({ slow: { run: slow } }, { maxParallelCalls: 3 })
    const calls = waits.map((_, n) => ({ name: 'slow', arguments: { n } }))
    const { tool_calls } = await answer(scripted({ calls }, 'Done.'))
    expect(tool_calls.map(({ result }) => result.success && result.result)).toEqual([0, 1, 2, 3, 4])
    expect(most).toBe(3)
  })

  test('[4.1-23] logs every turn', async () => {
    const { loop, log } = await looped()
    await loop.answer({ model: scripted(paris, 'Blue.'), messages: ask() })
    expect(log.at('info').filter((fields) => 'finish_reason' in fields)).toEqual([
      { model: 'scripted:turns', iteration: 1, tool_calls: 1, finish_reason: 'tool_calls' },
      { model: 'scripted:turns', iteration: 1, tool_calls: 0, finish_reason: 'stop' },
    ])
  })
})

const TOOL = {
  name: 'weather',
  description: 'The weather of a place',
  implementation: { type: 'mock', mock_response: 'blue' },
}
