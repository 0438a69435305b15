import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Config, loadConfigFile, silentLog, ToolManager } from 'toolyard'
import { describe, expect, onTestFinished, test } from 'vitest'

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
const read = (path: string): string => readFileSync(at(path), 'utf8')

/** The definitions of a configuration, by name. */
const definitions = ({ tools }: Config) =>
  Object.fromEntries(((tools?.registry ?? []) as { name: string }[]).map((tool) => [tool.name, tool]))

describe('Documentation', () => {
  test.todo('user guide')
  test.todo('developer guide for adding tools')

  test('contract of every shipped tool', async () => {
    const { config } = await loadConfigFile(at('toolyard.config.json'))
    const names = Object.keys(definitions(config))
    expect(names.length).toBeGreaterThan(4)
    for (const name of names) expect(existsSync(at(`docs/tools/${name}.md`)), name).toBe(true)
    // Every parameter is named in the contract of its tool.
    for (const [name, tool] of Object.entries(definitions(config))) {
      const { parameters } = tool as unknown as { parameters: { properties?: object } }
      for (const parameter of Object.keys(parameters.properties ?? {})) {
        expect(read(`docs/tools/${name}.md`), `${name}.${parameter}`).toContain(`\`${parameter}\``)
      }
    }
  })

  test('comparison of providers', () => {
    const [header = ''] = /^\| \| .*\|$/m.exec(read('docs/providers.md')) ?? []
    for (const provider of ['OpenAI', 'Anthropic', 'Gemini', 'Ollama']) expect(header).toContain(provider)
  })

  test('two example configurations ship in examples/, load, and are run by the tests', async () => {
    const open = async (name: string) => {
      const { config } = await loadConfigFile(at(`examples/${name}/toolyard.config.json`))
      const manager = new ToolManager(config, { log: silentLog })
      onTestFinished(() => manager.close())
      expect(await manager.loadTools()).toMatchObject({ skipped: [], warnings: [] })
      return config
    }
    const weather = await open('weather-assistant')
    expect(definitions(weather)).toMatchObject({ get_weather: { implementation: { type: 'mock' } } })
    expect(weather.responses?.[0]?.match?.intent_regexp).toBeDefined()
    const docs = await open('technical-docs')
    expect(definitions(docs)).toMatchObject({ search_docs: { implementation: { handler: 'rag_query' } } })
    expect(docs.responses?.[0]).toMatchObject({
      match: { service: 'technical_docs' },
      llm: 'ollama',
      tools: { max_iterations: 2 },
    })
    const tests = readdirSync(at('examples')).filter((file) => file.endsWith('.test.ts'))
    const run = tests.map((file) => read(`examples/${file}`)).join('\n')
    for (const name of ['weather-assistant', 'technical-docs']) expect(run).toContain(`open('${name}'`)
  })
})
