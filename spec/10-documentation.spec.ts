import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Config, loadConfigFile, silentLog, ToolManager } from 'toolyard'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { runWords } from './fixtures/command-line.ts'
import { configured } from './fixtures/tool-manager.ts'

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
const read = (path: string): string => readFileSync(at(path), 'utf8')

/** The definitions of a configuration, by name. */
const definitions = ({ tools }: Config) =>
  Object.fromEntries(((tools?.registry ?? []) as { name: string }[]).map((tool) => [tool.name, tool]))

/** The code blocks of a page in one language. */
const codeOf = (page: string, language: string): string[] =>
  [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(([, name]) => name === language).map(([, , code]) => code ?? '')

/** What a command prints in the current folder, results and errors. */
async function toolyard(command: string): Promise<string> {
  const words = (command.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''))
  const { stdout, stderr } = await runWords(...words)
  return stdout + stderr
}

describe('Documentation', () => {
  test('[10.1-1] shows commands in the user guide that work as printed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolyard-guide-'))
    const before = process.cwd()
    onTestFinished(() => {
      vi.unstubAllEnvs()
      process.chdir(before)
      rmSync(folder, { recursive: true, force: true })
    })
    process.chdir(folder)
    for (const name of ['TOOLYARD_CONFIG', 'TOOLYARD_DATA']) vi.stubEnv(name, undefined)
    const page = ['first-tool', 'first-model', 'team'].map((name) => read(`docs/start/${name}.md`)).join('\n')
    const [config] = codeOf(page, 'json')
    writeFileSync(join(folder, 'toolyard.config.json'), config as string)
    const sessions = codeOf(page, 'console')
    expect(sessions.length).toBeGreaterThan(4)
    // Runs every command in turn, in a new folder, and compares the output with the guide.
    for (const [, command = '', shown = ''] of sessions.join('').matchAll(/^\$ toolyard (.*)\n((?:(?!\$ ).*\n)*)/gm)) {
      const said = await toolyard(command)
      for (const line of shown.split('\n').filter((one) => one.trim() !== '')) {
        expect(said, command).toMatch(new RegExp(`^${line.split('…').map(RegExp.escape).join('.*')}$`, 'm'))
      }
    }
  })

  test('[10.1-2] shows code in the developer guide that is tested', () => {
    const page = read('docs/guides/adding-tools.md')
    const file = 'examples/adding-a-tool/stock-tools.ts'
    expect(page).toContain(`<!-- ${file} -->\n\`\`\`ts\n${read(file).trim()}\n\`\`\``)
    expect(read('examples/adding-a-tool/stock-tools.test.ts')).toContain((codeOf(page, 'ts')[1] ?? '').trim())
    for (const kind of ['mock', 'http', 'internal', 'langchain']) expect(page).toContain(`\`${kind}\``)
  })

  test('[10.1-3] documents every shipped tool and parameter', async () => {
    const { config } = await loadConfigFile(at('toolyard.config.json'))
    const { registry } = await configured(config.tools?.registry ?? [])
    const tools = registry.definitions()
    const names = tools.map(({ name }) => name)
    expect(names.length).toBeGreaterThan(11)
    for (const name of names) expect(existsSync(at(`docs/reference/tools/${name}.md`)), name).toBe(true)
    // Every parameter is named in the contract of its tool.
    for (const { name, parameters } of tools) {
      for (const parameter of Object.keys(parameters.properties ?? {})) {
        expect(read(`docs/reference/tools/${name}.md`), `${name}.${parameter}`).toContain(`\`${parameter}\``)
      }
    }
  })

  test('[10.1-4] compares the providers', () => {
    const [header = ''] = /^\| \| .*\|$/m.exec(read('docs/guides/providers.md')) ?? []
    for (const provider of ['OpenAI', 'Anthropic', 'Gemini', 'Ollama']) expect(header).toContain(provider)
  })

  test('[10.1-5] ships two example configurations that load and are tested', async () => {
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
