import { describe, expect, test } from 'vitest'
import { audio, document, image } from '../../core/fixtures/media.ts'
import { type CompletionBody, readCompletion } from './completion-request.ts'

const PIXEL = `data:image/png;base64,${image.data}`
const user = { role: 'user', content: 'Go' }
const asked = (rest: Partial<CompletionBody> = {}): CompletionBody => ({ model: 'a:b', messages: [user], ...rest })
const call = (id: string) => ({ id, type: 'function', function: { name: 'ask', arguments: '{}' } })
const assistant = { role: 'assistant', content: null, tool_calls: [call('c1'), call('c2')] }
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'yes' })

/** What is said of a request that is refused, and of which field of it. */
function refusal(body: CompletionBody): unknown {
  try {
    return readCompletion(body)
  } catch (error) {
    return JSON.parse(JSON.stringify(error)).error
  }
}

describe('a request of an OpenAI client', () => {
  test('is read with everything that has a meaning here, and nothing else', () => {
    const body = {
      ...asked({
        stream: true,
        stream_options: { include_usage: true },
        max_completion_tokens: 20,
        max_tokens: 10,
        temperature: 0,
        tools: [{ type: 'function', function: { name: 'ask', description: 'Asks.', parameters: { type: 'object' } } }],
        tool_choice: 'auto',
        n: 1,
        response_format: { type: 'text' },
      }),
      seed: 7,
      parallel_tool_calls: false,
    }
    expect(readCompletion(body)).toEqual({
      warnings: [],
      model: 'a:b',
      messages: [user],
      stream: true,
      includeUsage: true,
      run: {
        client_tools: [{ name: 'ask', description: 'Asks.', parameters: { type: 'object' } }],
        max_tokens: 20,
        temperature: 0,
      },
    })
  })

  test('accepts null for optional fields', () => {
    const nothing = { stream: null, stream_options: null, max_tokens: null, temperature: null, tools: null, n: null }
    expect(readCompletion(asked({ ...nothing, tool_choice: null, response_format: null }))).toEqual({
      warnings: [],
      model: 'a:b',
      messages: [user],
      stream: false,
      includeUsage: false,
      run: { client_tools: [] },
    })
  })

  test('has messages of all roles, their contents as texts or as parts', () => {
    const parts = [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ]
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: parts },
      { role: 'user', content: parts, name: 'Ann' },
      { ...assistant, content: 'Wait.' },
      result('c2'),
      { ...result('c1'), content: parts },
      { role: 'assistant', content: 'Done.' },
    ]
    expect(readCompletion(asked({ messages })).messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'system', content: 'one\ntwo' },
      { role: 'user', content: 'one\ntwo' },
      { role: 'assistant', content: 'Wait.', tool_calls: [call('c1'), call('c2')] },
      { role: 'tool', tool_call_id: 'c2', name: 'ask', content: 'yes' },
      { role: 'tool', tool_call_id: 'c1', name: 'ask', content: 'one\ntwo' },
      { role: 'assistant', content: 'Done.' },
    ])
  })

  test('has media in the messages of users', () => {
    const content = [
      { type: 'text', text: 'Look.' },
      { type: 'image_url', image_url: { url: PIXEL, detail: 'low' } },
      { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
      { type: 'input_audio', input_audio: { data: audio.data, format: 'wav' } },
      { type: 'file', file: { file_data: `data:application/pdf;base64,${document.data}`, filename: 'plan.pdf' } },
    ]
    expect(readCompletion(asked({ messages: [{ role: 'user', content }] })).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          image,
          { type: 'image', media_type: 'image/*', url: 'https://x.test/a.png' },
          audio,
          document,
        ],
      },
    ])
  })

  test.each<[string, unknown[], string]>([
    ['messages[0]', [null], 'must be an object'],
    ['messages[0].role', [{ role: 'function', content: '' }], '"function" is not supported'],
    ['messages[0].content', [{ role: 'user' }], 'must be a string'],
    ['messages[0].content', [{ role: 'assistant', content: null }], 'must be a string'],
    [
      'messages[0].content[1]',
      [{ role: 'user', content: [{ type: 'text', text: '' }, { type: 'image_url' }] }],
      '"image_url"',
    ],
    ...[
      { type: 'image_url', image_url: { url: 'ftp://x.test/a.png' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'input_audio', input_audio: { data: '?', format: 'wav' } },
      { type: 'file', file: { file_id: 'file-1' } },
      { type: 'file', file: { file_data: 'https://x.test/a.pdf' } },
    ].map((part): [string, unknown[], string] => [
      'messages[0].content[0]',
      [{ role: 'user', content: [part] }],
      'must have base64 data',
    ]),
    ['messages[0].content[0]', [{ role: 'system', content: [{ type: 'image_url' }] }], 'only "text"'],
    [
      'messages[0].content[1]',
      [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PIXEL } }, 7] }],
      'not',
    ],
    ['messages[0].function_call', [{ role: 'assistant', content: '', function_call: {} }], 'use tool_calls'],
    ['messages[0].tool_calls', [{ role: 'assistant', tool_calls: {} }], 'must be an array'],
    ['messages[0].tool_calls', [{ ...assistant, tool_calls: [call('a'), call('a')] }], 'different ids'],
    ['messages[0].tool_calls[0]', [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'custom' }] }], '"function"'],
    ['messages[0].tool_calls[0]', [{ role: 'assistant', tool_calls: [{ type: 'function' }] }], 'must have an id'],
    ['messages[0].tool_call_id', [result('c1')], '"c1" must be the id of an unanswered call'],
    ['messages[2].tool_call_id', [assistant, result('c1'), result('c1')], 'an unanswered call'],
    ['messages[2]', [assistant, result('c1'), user], 'missing: c2'],
    ['messages', [assistant, result('c1')], 'missing: c2'],
  ])('is refused for %s', (param, messages, problem) => {
    expect(refusal(asked({ messages }))).toMatchObject({
      type: 'invalid_request_error',
      param,
      message: expect.stringContaining(problem),
    })
  })

  test.each<[string, Partial<CompletionBody>]>([
    ['n', { n: 2 }],
    ['response_format', { response_format: { type: 'grammar' } }],
    ['logprobs', { logprobs: true }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['functions', { functions: [] }],
    ['function_call', { function_call: 'auto' }],
    ['max_output_tokens', { max_output_tokens: 5 }],
    ['budget', { budget: { tokens: 5 } }],
    ['tool_choice', { tool_choice: 'any' }],
    ['tool_choice', { tool_choice: { type: 'allowed_tools', allowed_tools: {} } }],
  ])('is refused for a %s that would not be followed', (param, rest) => {
    expect(refusal(asked(rest))).toMatchObject({ param, code: 'unsupported_value' })
  })

  test('says which tool the model must call, and what it must answer', () => {
    const schema = { type: 'object', properties: { town: { type: 'string' } } }
    const response_format = { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } }
    const named = { type: 'function', function: { name: 'ask' } }
    const tools = [named]
    expect(readCompletion(asked({ tools, tool_choice: 'required', response_format })).run).toMatchObject({
      tool_choice: 'required',
      output: { schema },
    })
    expect(readCompletion(asked({ tools, tool_choice: named })).run).toMatchObject({ tool_choice: { name: 'ask' } })
    const whole = readCompletion(asked({ response_format: { type: 'json_object' } })).run
    expect(whole.output).toEqual({ schema: { type: 'object' } })
    for (const json_schema of [undefined, {}, { schema: { type: 'array' } }, { schema: 'object' }]) {
      const given = { response_format: { type: 'json_schema', json_schema } }
      expect(refusal(asked(given))).toMatchObject({ param: expect.stringMatching(/^response_format/) })
    }
  })

  test('with tool_choice none offers no tools', () => {
    const tools = [{ type: 'function', function: { name: 'ask' } }]
    expect(readCompletion(asked({ tools, tool_choice: 'none' })).run).toEqual({ allowed_tools: [] })
  })

  test('may bring tools of a bounded length', () => {
    const tools = (length: number) =>
      Array.from({ length: 8 }, (_, index) => ({
        type: 'function',
        function: { name: `ask${index}`, description: 'x'.repeat(length) },
      }))
    expect(refusal(asked({ tools: tools(32_768) }))).toMatchObject({
      param: 'tools',
      message: expect.stringMatching(/^tools must have at most 262144 characters together, not \d+$/),
    })
    expect(readCompletion(asked({ tools: tools(32_000) })).run.client_tools).toHaveLength(8)
  })

  test('leaves out tools that no model here can call, and says so', () => {
    const ask = { type: 'function', function: { name: 'ask' } }
    const patch = { type: 'custom', custom: { name: 'patch' } }
    const { run, warnings } = readCompletion(
      asked({ tools: [patch, ask, { type: 'namespace', name: 'crm', tools: [ask] }] }),
    )
    expect(run.client_tools?.map(({ name }) => name)).toEqual(['ask'])
    expect(warnings).toEqual([
      'tools[0] was left out: tools of type "custom" are not supported, only functions',
      'tools[2] "crm" was left out: tools of type "namespace" are not supported, only functions',
    ])
    const many = readCompletion(asked({ tools: Array.from({ length: 100 }, () => patch) })).warnings
    expect([many.length, many.at(-1)]).toEqual([21, '80 more tools were left out'])
  })

  test('may bring tools without description and parameters', () => {
    const tools = [
      { type: 'function', function: { name: 'ask' } },
      { type: 'function', function: { name: 'say', description: null, parameters: null, strict: null } },
    ]
    const parameters = { type: 'object', properties: {} }
    expect(readCompletion(asked({ tools })).run.client_tools).toEqual([
      { name: 'ask', description: '', parameters },
      { name: 'say', description: '', parameters },
    ])
  })

  test.each<[string, unknown]>([
    ['tools[0]', null],
    ['tools[0]', { function: { name: 'a' } }],
    ['tools[0].function.name', { type: 'function' }],
    ['tools[0].function.name', { type: 'function', function: { name: 'a b' } }],
    ['tools[0].function.description', { type: 'function', function: { name: 'a', description: 1 } }],
    ['tools[0].function.parameters', { type: 'function', function: { name: 'a', parameters: [] } }],
    ['tools[0].function.parameters.type', { type: 'function', function: { name: 'a', parameters: { type: 'array' } } }],
    [
      'tools[0].function.parameters',
      { type: 'function', function: { name: 'a', parameters: { properties: { b: { $ref: 'http://evil/' } } } } },
    ],
  ])('is refused for %s', (param, tool) => {
    expect(refusal(asked({ tools: [tool] }))).toMatchObject({ type: 'invalid_request_error', param })
  })
})
