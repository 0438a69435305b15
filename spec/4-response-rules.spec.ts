import { type Config, ConfigError, silentLog, ToolManager } from 'toolyard'
import { captureLog } from 'toolyard/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  buildMessages,
  NoResponseRuleError,
  type Profile,
  type ResponseRule,
  ResponseRules,
  ruleRun,
} from '../src/chat/response-rules.ts'
import { ModelCatalogue } from '../src/models/model-catalogue.ts'
import { runCommand } from './fixtures/command-line.ts'

const rule = (more: Partial<ResponseRule> = {}): ResponseRule => ({ llm: 'mini', model: 'v1', prompt: '', ...more })

/** Rules by the name of their model. */
const rules = (named: Readonly<Record<string, ResponseRule['match']>>) =>
  new ResponseRules(Object.entries(named).map(([model, match]) => rule({ model, ...(match && { match }) })))

/** Starts with this configuration, which throws where it cannot. */
const start = (config: Config): void => {
  const manager = new ToolManager(config, { log: silentLog })
  onTestFinished(() => manager.close())
}

const system = async (prompt: string, message: string, profile: Profile = {}, lookup = async () => '') =>
  (await buildMessages({ prompt }, { message, profile, lookup }))[0]?.content

describe('Response rules', () => {
  test('[4.2-1] reads response rules from the configuration', () => {
    const whole = rule({
      match: { intent_regexp: '/(weather|forecast)/i', service: 'home' },
      max_tokens: 500,
      temperature: 0.2,
      tools: { enabled: true, allowed_tools: ['get_weather'], max_iterations: 2 },
    })
    start({ responses: [whole] })
    expect(ruleRun(whole)).toEqual({
      model_id: 'mini:v1',
      service: 'mini',
      max_tokens: 500,
      temperature: 0.2,
      allowed_tools: ['get_weather'],
      max_iterations: 2,
    })
  })

  test('[4.2-2] answers by the first rule that matches', () => {
    const ordered = rules({ first: { topic: 'rain' }, second: { topic: 'rain' }, third: undefined })
    expect(ordered.match({ topic: 'rain' }, '').model).toBe('first')
    expect(ordered.match({ topic: 'snow' }, '').model).toBe('third')
  })

  test('[4.2-3] tests intent_regexp against the intent, else the message', () => {
    const weather = rules({ weather: { intent_regexp: '/(weather|forecast)/i' }, rest: undefined })
    expect(weather.match({ intent: 'FORECAST' }, 'Hello').model).toBe('weather')
    expect(weather.match({ intent: 'greeting' }, 'Weather?').model).toBe('rest')
    expect(weather.match({}, "What's the Weather in Paris?").model).toBe('weather')
    expect(() => start({ responses: [rule({ match: { intent_regexp: '/(/' } })] })).toThrow(
      /responses\[0\]\.match\.intent_regexp .* isn't a regular expression/,
    )
  })

  test('[4.2-4] compares every other key of match with the profile', () => {
    const docs = rules({ docs: { service: 'technical_docs', tier: 2 }, rest: undefined })
    expect(docs.match({ service: 'technical_docs', tier: 2, topic: 'x' }, '').model).toBe('docs')
    expect(docs.match({ service: 'technical_docs', tier: '2' }, '').model).toBe('rest')
    expect(docs.match({ service: 'technical_docs' }, '').model).toBe('rest')
  })

  test('[4.2-5] requires all keys of match', () => {
    const both = rules({ both: { intent_regexp: '/how/', service: 'docs' }, rest: undefined })
    expect(both.match({ service: 'docs' }, 'how').model).toBe('both')
    expect(both.match({ service: 'docs' }, 'why').model).toBe('rest')
    expect(both.match({ service: 'home' }, 'how').model).toBe('rest')
  })

  test('[4.2-6] matches always without match', () => {
    const all = rules({ all: undefined })
    for (const profile of [{}, { intent: 'x', service: 'y' }]) expect(all.match(profile, 'z').model).toBe('all')
  })

  test('[4.2-7] answers 400 when no rule matches', () => {
    const unmatched = () => rules({ docs: { service: 'docs' } }).match({}, 'Hello')
    expect(unmatched).toThrow(NoResponseRuleError)
    expect(unmatched).toThrow(/^No response rule matches$/)
  })

  test("[4.2-8] sends the prompt, the previous messages and the user's message", async () => {
    const previousMessages = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Good morning.' },
    ] as const
    expect(await buildMessages(rule({ prompt: 'Be kind.' }), { message: 'And now?', previousMessages })).toEqual([
      { role: 'system', content: 'Be kind.' },
      ...previousMessages,
      { role: 'user', content: 'And now?' },
    ])
  })

  test('[4.2-9] fills user_message, profile values and rag_context into the prompt', async () => {
    const asked: string[] = []
    const lookup = async (message = '') => {
      asked.push(message)
      return 'Rain falls.'
    }
    expect(await system('{{user_message}} / {{topic}}', 'Why?', { topic: 'rain' }, lookup)).toBe('Why? / rain')
    expect(asked).toEqual([])
    expect(await system('Context: {{rag_context}}', 'Why?', {}, lookup)).toBe('Context: Rain falls.')
    expect(asked).toEqual(['Why?'])
  })

  test('[4.2-10] leaves an unknown name empty, with a warning at load', async () => {
    const log = captureLog()
    new ResponseRules([rule({ prompt: '{{user_mesage}}' })], { log })
    expect(log.at('warn')).toMatchObject([
      { place: 'responses[0].prompt', problem: expect.stringContaining("did you mean '{{user_message}}'?") },
    ])
    expect(await system('<{{user_mesage}}>', 'Why?')).toBe('<>')
  })

  test('[4.2-11] says that a provider is not found', async () => {
    const responses = [rule({ llm: 'mistral' })]
    expect(() =>
      start({ providers: { mistral: { type: 'openai', base_url: 'http://127.0.0.1:1' } }, responses }),
    ).not.toThrow()
    expect(() => start({ responses })).toThrow(ConfigError)
    const { status, stderr, file } = await runCommand({ responses }, 'tools')
    expect(status).toBe(2)
    expect(stderr).toContain(`${file}: responses[0].llm: Provider mistral not found`)
    expect(() => new ModelCatalogue([]).get('mistral:small')).toThrow('Provider mistral not found')
  })
})
