import { describe, expect, test } from 'vitest'
import { eventsOf, openaiModel, tool, withServer } from './fixtures/server.ts'
import { mock } from './fixtures/tool-manager.ts'

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const weather = { ...mock('get_weather', { temperature: 22 }), parameters: city }
const rule = { llm: 'openai', model: 'gpt-4o', prompt: 'Be brief.', tools: { enabled: true } }

describe('Endpoints', () => {
  test('[6.1-8] POST /chat answers by the response rules', async () => {
    const model = await openaiModel({ call: 'get_weather', args: { city: 'Paris' } }, 'It is 22 degrees.')
    const { post } = await withServer([weather], {
      ...model.config,
      responses: [{ ...rule, match: { service: 'weather' } }],
    })
    const { status, body } = await post('/chat', {
      message: 'And in Paris?',
      previous_messages: [
        { role: 'user', content: 'How is Rome?' },
        { role: 'assistant', content: 'Sunny.' },
      ],
      profile: { service: 'weather' },
      session_id: 's1',
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      content: 'It is 22 degrees.',
      service: 'openai',
      model: 'gpt-4o',
      stop_reason: 'stop',
    })
    expect(body.tool_calls).toMatchObject([{ tool: 'get_weather', params: { city: 'Paris' }, iteration: 1 }])
    expect(model.told()).toContain('How is Rome?')
    const nobody = await post('/chat', { message: 'Hello', profile: { service: 'other' } })
    expect([nobody.status >= 400 && nobody.status < 500, typeof nobody.body.error]).toEqual([true, 'string'])
  })

  test('[6.1-9] POST /chat runs the named tool first and gives its result as context', async () => {
    const model = await openaiModel('It is 22 degrees.')
    const { post } = await withServer([weather], { ...model.config, responses: [rule] })
    const { body } = await post('/chat', {
      message: 'How is it?',
      tool_name: 'get_weather',
      tool_params: { city: 'Paris' },
    })
    const envelope = { success: true, result: { temperature: 22 }, tool_name: 'get_weather' }
    expect(body.tool_calls).toMatchObject([
      { tool: 'get_weather', params: { city: 'Paris' }, iteration: 0, result: envelope },
    ])
    expect(model.told()).toContain('temperature')
  })

  test('[6.1-10] POST /chat asks no model when the named tool is unknown, denied or invalid', async () => {
    const model = await openaiModel('Never said.')
    const secret = { ...mock('secret', 1), permissions: ['secrets'] }
    const { post } = await withServer([weather, secret], { ...model.config, responses: [rule] })
    const chat = (tool_name: string) => post('/chat', { message: 'How is it?', tool_name, tool_params: {} })
    const answers = [await chat('nowhere'), await chat('secret'), await chat('get_weather')]
    expect(answers.map(({ status, body }) => [status, body.error_code, body.tool_name])).toEqual([
      [404, 'TOOL_NOT_FOUND', 'nowhere'],
      [403, 'PERMISSION_DENIED', 'secret'],
      [400, 'INVALID_PARAMETERS', 'get_weather'],
    ])
    expect(model.requests).toHaveLength(0)
  })

  test('[6.1-11] POST /chat gives the envelope of a failed tool as context', async () => {
    const model = await openaiModel('I am sorry.')
    const broken = () => {
      throw new Error('The gauge is frozen')
    }
    const { post } = await withServer(
      [tool('gauge')],
      { ...model.config, responses: [rule] },
      { handlers: { gauge: broken } },
    )
    const { status, body } = await post('/chat', { message: 'How is it?', tool_name: 'gauge', tool_params: {} })
    expect([status, body.content]).toEqual([200, 'I am sorry.'])
    expect(body.tool_calls).toMatchObject([{ tool: 'gauge', iteration: 0, result: { error: 'The gauge is frozen' } }])
    expect(model.told()).toContain('The gauge is frozen')
  })

  test('[6.1-16] POST /api/tools/test runs the loop once with every tool', async () => {
    const model = await openaiModel({ call: 'get_weather', args: { city: 'Paris' } }, 'It is 22 degrees.')
    const { post } = await withServer([weather, mock('other'), 'summarize'], model.config)
    const { status, body } = await post('/api/tools/test', { query: 'How is Paris?', model: 'openai:gpt-4o' })
    expect([status, body.content, body.tool_calls.length]).toEqual([200, 'It is 22 degrees.', 1])
    const sent = model.requests[0]?.body as {
      tools: { function: { name: string } }[]
      messages: { role: string; content: string }[]
      max_tokens?: number
      max_completion_tokens?: number
    }
    expect(sent.tools.map((one) => one.function.name)).toEqual(
      expect.arrayContaining(['get_weather', 'other', 'summarize']),
    )
    expect(sent.max_tokens ?? sent.max_completion_tokens).toBe(500)
    expect(sent.messages[0]).toMatchObject({
      role: 'system',
      content: 'You are a helpful assistant with access to tools. Use them when appropriate.',
    })
  })

  test('[6.1-17] POST /api/tools/test answers 400 without query or model', async () => {
    const { post } = await withServer([])
    for (const body of [{}, { query: 'x' }, { model: 'mini:v1' }, { query: '', model: 'mini:v1' }]) {
      const answer = await post('/api/tools/test', body)
      expect([answer.status, answer.body.error]).toEqual([400, 'Missing query or model'])
    }
  })

  test('[6.1-18] POST /api/tools/test answers 400 for an unknown provider', async () => {
    const { post } = await withServer([])
    const { status, body } = await post('/api/tools/test', { query: 'x', model: 'nobody:gpt-4o' })
    expect([status, body.error]).toEqual([400, expect.stringContaining('nobody')])
  })

  test('[6.1-23] streams results and progress as Server-Sent Events when the request accepts them', async () => {
    const model = await openaiModel({ call: 'count', args: {} }, 'Counted.')
    const count = (_: unknown, context: { report(progress: unknown): void }) => {
      context.report({ percent: 50 })
      return 'done'
    }
    const { post } = await withServer([tool('count')], { ...model.config, responses: [rule] }, { handlers: { count } })
    const headers = { accept: 'text/event-stream' }
    const executed = await post('/tools/execute', { tool_name: 'count', params: {} }, { headers })
    expect(executed.type).toContain('text/event-stream')
    expect(eventsOf(executed.text).map(({ event, data }) => [event, (data as { success?: boolean }).success])).toEqual([
      ['progress', undefined],
      ['result', true],
    ])
    const chatted = eventsOf((await post('/chat', { message: 'Count' }, { headers })).text)
    expect(chatted.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['tool-call-start', 'call-progress', 'call-result', 'text-delta', 'answer']),
    )
    expect(chatted.at(-1)).toMatchObject({ event: 'answer', data: { content: 'Counted.' } })
  })
})
