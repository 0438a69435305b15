import { describe, expect, test } from 'vitest'
import { ConfigError, checkConfig } from './check-config.ts'
import { configuredModels } from './model-settings.ts'

const GONE = 'demo:rules was replaced by mini:v1: write mini instead of demo, and v1 instead of rules.'
const rule = (more: object) => ({ responses: [{ llm: 'mini', model: 'v1', prompt: '', ...more }] })
const model = (...ids: string[]) => ({ models: ids.map((id) => ({ id, name: id, capabilities: [] })) })

describe('checkConfig', () => {
  test('accepts everything in the documentation', () => {
    const config = {
      providers: {
        openai: { api_key: '${OPENAI_API_KEY}', headers: { a: 'b' }, timeout_ms: 1, api: 'responses' },
        office: { type: 'ollama', base_url: '${OLLAMA_URL}' },
        llama: { grammar: false },
      },
      models: [
        {
          id: 'office:llama3.2:3b',
          name: 'Llama',
          capabilities: ['function-calling'],
          prices: { input: 0, output: 1 },
        },
      ],
      responses: [
        {
          match: { intent_regexp: '/a/i', service: 'x', tier: 1, paying: true },
          llm: 'office',
          model: 'llama3.2:3b',
          prompt: '{{user_message}}',
          max_tokens: 1,
          temperature: 0,
          tools: { enabled: true, allowed_tools: [], max_iterations: 2 },
          budget: { wall_time_ms: 1, tokens: 1, cost: 0.01 },
        },
      ],
    }
    expect(checkConfig(config, 'x.json')).toBe(config)
  })

  test.each<[string, unknown, string]>([
    [
      'a key of a provider',
      { providers: { openai: { base_ur: 'x' } } },
      "unknown key 'providers.openai.base_ur': did you mean 'base_url'?",
    ],
    [
      'a key of a provider with an odd name',
      { providers: { 'a.b': { type: 'ollama', timeoutms: 1 } } },
      `unknown key 'providers["a.b"].timeoutms': did you mean 'timeout_ms'?`,
    ],
    [
      'a key of prices',
      { models: [{ id: 'mini:a', name: 'a', capabilities: [], prices: { input: 1, output: 1, outptu: 1 } }] },
      "unknown key 'models[0].prices.outptu': did you mean 'output'?",
    ],
    ['a key of a rule', rule({ promt: 'x' }), "unknown key 'responses[0].promt': did you mean 'prompt'?"],
    [
      "a key of a rule's tools",
      rule({ tools: { alowed_tools: [] } }),
      "unknown key 'responses[0].tools.alowed_tools': did you mean 'allowed_tools'?",
    ],
    ['a key like nothing', rule({ zzzzzz: 1 }), "unknown key 'responses[0].zzzzzz': remove it."],
    ['a rule without llm', { responses: [{ model: 'a', prompt: '' }] }, "missing 'responses[0].llm'"],
    ['a model without capabilities', { models: [{ id: 'mini:a', name: 'a' }] }, "missing 'models[0].capabilities'"],
    ['a value of match that is a list', rule({ match: { service: [] } }), 'responses[0].match.service must be'],
    [
      "a rule's enabled that is no boolean",
      rule({ tools: { enabled: 'true' } }),
      'responses[0].tools.enabled must be a boolean',
    ],
    [
      'a provider name with a colon',
      { providers: { 'a:b': { type: 'ollama' } } },
      'the name of providers.a:b must match pattern',
    ],
    [
      'an unknown type',
      { providers: { mine: { type: 'mistral' } } },
      'providers.mine.type must be one of: openai, anthropic, gemini, ollama, llama, mini',
    ],
    [
      'a name that is not a type',
      { providers: { mine: {} } },
      "providers.mine.type is missing, and 'mine' isn't a type: use one of openai,",
    ],
    [
      'an address that is none',
      { providers: { ollama: { base_url: 'localhost:11434' } } },
      'providers.ollama.base_url must be an http or https address',
    ],
    [
      'api for another type',
      { providers: { ollama: { api: 'chat' } } },
      'providers.ollama.api is for the type openai only: remove it.',
    ],
    [
      'grammar for another type',
      { providers: { openai: { grammar: true } } },
      'providers.openai.grammar is for the type llama only: remove it.',
    ],
    [
      'all origins',
      { server: { cors_origins: ['*'] } },
      'server.cors_origins[0]: "*" would allow every website: name origins such as "https://app.example.com".',
    ],
    [
      'an origin with a path',
      { server: { cors_origins: ['https://a.test', 'https://b.test/'] } },
      `server.cors_origins[1]: "https://b.test/" isn't an origin`,
    ],
    [
      'a role that is built in',
      { roles: { admin: { scopes: [] } } },
      'roles.admin: "admin" is a built-in role: choose another name.',
    ],
    ['an unknown scope of a role', { roles: { a: { scopes: ['raed'] } } }, 'roles.a.scopes[0] must be one of: read,'],
    [
      'approval by an unknown role',
      { tools: { registry: [{ approval: { by: ['admn'] } }] } },
      'tools.registry[0].approval.by: Unknown role "admn". Did you mean "admin"?',
    ],
    [
      'approval by a role that may not approve',
      { tools: { registry: [{ approval: { by: ['user'] } }] } },
      'tools.registry[0].approval.by: the role "user" lacks the scope "approve".',
    ],
    ['an id without provider', model('gpt-4o'), "models[0].id 'gpt-4o' names no provider: write it as provider:model."],
    [
      'an id of no provider',
      model('mistral:small'),
      'models[0].id: Provider mistral not found: add it to providers (known: mini).',
    ],
    ['a rule for the model that was there before', rule({ llm: 'demo', model: 'rules' }), `responses[0].llm: ${GONE}`],
    ['a model of it', model('demo:rules'), `models[0].id: ${GONE}`],
    ['the provider of it', { providers: { demo: {} } }, `providers.demo: ${GONE}`],
    ['its type', { providers: { mine: { type: 'demo' } } }, `providers.mine.type: ${GONE}`],
    [
      'an id that comes twice',
      model('mini:a', 'mini:b', 'mini:a'),
      "models[2].id 'mini:a' is the same as models[0].id: remove one of them.",
    ],
    [
      'a rule for no provider',
      { ...rule({ llm: 'opnai' }), providers: { openai: {} } },
      "responses[0].llm: Provider opnai not found: did you mean 'openai'?",
    ],
    [
      'a pattern that is none',
      rule({ match: { intent_regexp: '/(/' } }),
      "responses[0].match.intent_regexp '/(/' isn't a regular expression: Unterminated group.",
    ],
    [
      'a pattern that backtracks',
      rule({ match: { intent_regexp: '/(?!a)/' } }),
      "responses[0].match.intent_regexp '/(?!a)/' cannot be matched in bounded time",
    ],
  ])('refuses %s with its path and a fix', (_, config, message) => {
    expect(() => checkConfig(config, 'x.json')).toThrow(ConfigError)
    expect(() => checkConfig(config, 'x.json')).toThrow(`x.json: ${message}`)
  })

  test('reports all problems at once', () => {
    const config = { ...rule({ llm: 'a', match: { intent_regexp: 'x' } }), ...model('b:c') }
    expect(() => checkConfig(config, 'x.json')).toThrow(/Provider b not found.*Provider a not found.*isn.t a regular/)
  })

  test("doesn't show a key of the wrong type", () => {
    expect(() => checkConfig({ providers: { openai: { api_key: ['hidden'] } } }, 'x.json')).toThrow(
      /^x\.json: providers\.openai\.api_key must be a string\.$/,
    )
  })
})

describe('configuredModels', () => {
  test('includes mini:v1 unless mini has another type', () => {
    expect(configuredModels({}).map(({ id }) => id)).toEqual(['mini:v1'])
    expect(configuredModels({ providers: { mini: { timeout_ms: 5 } } })).toHaveLength(1)
    expect(configuredModels(model('mini:v1'))).toHaveLength(1)
    expect(configuredModels({ ...model('office:m'), providers: { office: { type: 'ollama' } } })).toMatchObject([
      { id: 'office:m' },
      { id: 'mini:v1' },
    ])
    expect(configuredModels({ providers: { mini: { type: 'ollama' } } })).toEqual([])
  })

  test('includes the models of response rules once, with tools unless every rule disables them', () => {
    const rule = (llm: string, name: string, enabled?: boolean) => ({
      ...{ llm, model: name, prompt: 'p' },
      ...(enabled !== undefined && { tools: { enabled } }),
    })
    const responses = [
      rule('mini', 'v1'),
      rule('office', 'm'),
      rule('openai', 'openai:gpt-4o', false),
      rule('openai', 'gpt-4o'),
      rule('openai', 'plain', false),
    ]
    const listed = configuredModels({ ...model('office:m'), responses })
    expect(listed.map(({ id, name, capabilities }) => [id, name, capabilities.length])).toEqual([
      ['office:m', listed[0]?.name, listed[0]?.capabilities.length],
      ['openai:gpt-4o', 'gpt-4o', 1],
      ['openai:plain', 'plain', 0],
      ['mini:v1', 'Mini (comes with Toolyard)', 1],
    ])
  })
})
