import { fileURLToPath } from 'node:url'
import { type Config, loadConfigFile, silentLog, ToolManager } from 'toolyard'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startOllamaServer } from '../src/models/fixtures/ollama-server.ts'

async function open(name: string, change: (config: Config) => Config = (config) => config) {
  const file = fileURLToPath(new URL(`./${name}/toolyard.config.json`, import.meta.url))
  const manager = new ToolManager(change((await loadConfigFile(file)).config), { log: silentLog, env: {} })
  onTestFinished(() => manager.close())
  const report = await manager.loadTools()
  return { manager, report, chat: await manager.getChat(), models: await manager.getModels() }
}

describe('the configurations of the examples', () => {
  test('the weather assistant looks the weather up, and has no tools for anything else', async () => {
    const { report, chat } = await open('weather-assistant')
    expect(report).toMatchObject({ loaded: ['get_weather'], skipped: [], warnings: [] })
    const answer = await chat.answer({ message: "What's the weather in Paris?" })
    expect(answer).toMatchObject({
      stop_reason: 'stop',
      tool_calls: [{ tool: 'get_weather', params: { location: 'Paris' } }],
    })
    expect(answer.content).toContain('22')
    const other = await chat.answer({ message: 'Paris?', profile: { intent: 'small talk' } })
    expect(other.tool_calls).toEqual([])
  })

  test('the technical documentation assistant searches, with Ollama, at most twice', async () => {
    const call = { function: { name: 'search_docs', arguments: { query: 'deadline of a call' } } }
    const server = await startOllamaServer(({ body }) => {
      const asked = body.messages.filter(({ role }) => role === 'tool').length
      const message =
        asked === 0
          ? { role: 'assistant', content: '', tool_calls: [call] }
          : { role: 'assistant', content: 'See life-of-a-call.md.' }
      return { parts: [{ message }, { message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop' }] }
    })
    onTestFinished(() => server.stop())
    const { report, chat } = await open('technical-docs', (config) => ({
      ...config,
      providers: { ollama: { base_url: server.url } },
    }))
    expect(report).toMatchObject({ loaded: ['search_docs'], skipped: [], warnings: [] })
    const profile = { service: 'technical_docs' }
    const answer = await chat.answer({ message: 'How long may a call take?', profile })
    expect(answer).toMatchObject({ content: 'See life-of-a-call.md.', service: 'ollama', model: 'llama3.2:3b' })
    expect(answer.tool_calls[0]?.result).toMatchObject({ success: true, result: { results: [{}, {}, {}, {}, {}] } })
    expect(server.requests[0]?.body).toMatchObject({ model: 'llama3.2:3b', options: { temperature: 0.2 } })
    await expect(chat.answer({ message: 'Hello' })).rejects.toThrow('No response rule matches')
  })

  test('the trip pipeline calls three tools and filters what they return', async () => {
    const { manager, report } = await open('trip-pipeline')
    expect(report).toMatchObject({ skipped: [], warnings: [] })
    expect(await manager.getExecutor().execute('plan_trip', { city: 'Oslo' })).toMatchObject({
      result: { weather: { temperature: 8, condition: 'rain' }, cheap: ['h2'] },
    })
  })

  test('code mode adds up orders in one call', async () => {
    const { manager, report } = await open('code-mode')
    expect(report).toMatchObject({ loaded: ['list_orders', 'get_price', 'run_code'], skipped: [], warnings: [] })
    const code = `
      const { orders } = await tools.list_orders({ customer: "Ann" })
      const prices = await Promise.all(orders.map(({ article }) => tools.get_price({ article })))
      return orders.reduce((sum, { count }, at) => sum + count * prices[at].price, 0)`
    expect(await manager.getExecutor().execute('run_code', { code })).toMatchObject({ result: { result: 340 } })
  })

  test('the weather agent answers with a tool of its own', async () => {
    const { manager, report } = await open('weather-agent')
    expect(report).toMatchObject({ loaded: ['get_weather', 'ask_weather'], skipped: [], warnings: [] })
    const result = await manager.getExecutor().execute('ask_weather', { task: "What's the weather in Paris?" })
    expect(result).toMatchObject({
      success: true,
      result: { answer: expect.stringContaining('22'), stop_reason: 'stop' },
    })
  })

  test('S2 the order desk starts without a provider, a description or parameters', async () => {
    const { report, chat, models } = await open('order-desk')
    expect(report).toMatchObject({ loaded: ['find_order', 'list_carriers', 'refund_amount'], skipped: [] })
    expect(report.warnings.map(({ name, problem }) => `${name}: ${problem.split('.')[0]}`)).toEqual([
      'find_order: It has no description: models see "Find order"',
      'find_order: It has no parameters: it takes order_number, language',
      'list_carriers: It has no description: models see "List carriers"',
      'list_carriers: It has no parameters: it takes none',
    ])
    expect(models.availability('openai:gpt-4o')).toMatchObject({
      available: false,
      reason: expect.stringContaining('OPENAI_API_KEY is not set'),
    })
    const answer = await chat.answer({ message: 'List carriers' })
    expect(answer.tool_calls).toMatchObject([{ tool: 'list_carriers', params: {} }])
    expect(answer.content).toContain('Night Rail')
  })

  test('S2 the help desk asks Ollama at its usual address, with passages of the documentation', async () => {
    const { report, models } = await open('help-desk')
    expect(report).toMatchObject({ loaded: ['search_handbook', 'summarize'], skipped: [], warnings: [] })
    expect(models.list().map(({ id }) => id)).toEqual(['ollama:llama3.2:3b', 'anthropic:claude-sonnet-4-5', 'mini:v1'])
    expect(models.availability('anthropic:claude-sonnet-4-5')).toMatchObject({ available: false })
    const message = { role: 'assistant', content: 'A call has 30 s.' }
    const server = await startOllamaServer(() => ({ parts: [{ message, done: true, done_reason: 'stop' }] }))
    onTestFinished(() => server.stop())
    const { chat } = await open('help-desk', (config) => ({
      ...config,
      providers: { ollama: { base_url: server.url } },
    }))
    const profile = { service: 'help_desk' }
    const answer = await chat.answer({ message: 'How long may a call take?', profile })
    expect(answer).toMatchObject({ content: 'A call has 30 s.', service: 'ollama', stop_reason: 'stop' })
    const prompt = server.requests[0]?.body.messages[0]?.content
    expect(prompt).toMatch(/handbook:\n\n.{100,}\n\nQuestion: How long may a call take\?$/s)
  })
})
