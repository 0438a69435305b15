import { fileURLToPath } from 'node:url'
import { type Config, loadConfigFile, silentLog, ToolManager } from 'toolyard'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startOllamaServer } from '../src/models/fixtures/ollama-server.ts'

async function open(name: string, change: (config: Config) => Config = (config) => config) {
  const file = fileURLToPath(new URL(`./${name}/toolyard.config.json`, import.meta.url))
  const manager = new ToolManager(change((await loadConfigFile(file)).config), { log: silentLog })
  onTestFinished(() => manager.close())
  const report = await manager.loadTools()
  return { report, chat: await manager.getChat() }
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
})
