import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ToolManager } from '../src/app/tool-manager.ts'
import { openManager, shippedConfig } from '../src/cli/common/open.ts'
import { choicesOf, parameterSchema } from '../src/cli/common/params.ts'
import { captureTerminal, emptyFolder, toolyard } from '../src/cli/fixtures/toolyard.ts'
import type { ToolDefinition } from '../src/core/tool.ts'

const NAMES = ['get_weather', 'calculate', 'echo', 'datetime', 'string', 'set_light', 'search_documents']
const page = (name: string) => readFile(new URL(`../docs/tools/${name}.md`, import.meta.url), 'utf8')

/** The arguments of each command line, as bash passes them to the command. */
async function shellWords(lines: readonly string[]): Promise<string[][]> {
  const script = `toolyard() { printf '%s\\0' "$@"; printf '\\n'; }\n${lines.join('\n')}`
  const { stdout } = await promisify(execFile)('bash', ['-euc', script])
  return stdout
    .split('\0\n')
    .slice(0, -1)
    .map((line) => line.split('\0'))
}

let manager: ToolManager
beforeAll(async () => {
  ;({ manager } = await openManager(captureTerminal().terminal, { config: shippedConfig }))
})
afterAll(async () => {
  await manager.close()
  await emptyFolder()
})
const toolOf = (name: string) => manager.getRegistry().get(name) as ToolDefinition
const run = (name: string, params: object) => manager.getExecutor().execute(name, params)

test('the configuration that ships holds these tools', async () => {
  expect(await manager.loadTools()).toEqual({ loaded: NAMES, skipped: [], warnings: [] })
})

describe.each(NAMES)('%s', (name) => {
  test('every parameter has a description, and is on the page with all its choices', async () => {
    const text = await page(name)
    for (const parameter of Object.keys(Object(toolOf(name).parameters.properties))) {
      const schema = parameterSchema(toolOf(name).parameters, parameter) ?? {}
      expect(schema.description, parameter).toEqual(expect.any(String))
      expect(text).toContain(`\`${parameter}\``)
      for (const choice of choicesOf(schema)) expect(text).toContain(`\`${choice}\``)
    }
  })

  test('the examples of its page work as they stand', async () => {
    const examples = (await page(name)).match(/^toolyard .*$/gm) ?? []
    expect(examples.length).toBeGreaterThan(0)
    for (const words of await shellWords(examples)) expect(await toolyard(words)).toMatchObject({ code: 0 })
  })
})

test('there is no page of a tool that does not ship', async () => {
  const pages = await readdir(new URL('../docs/tools/', import.meta.url))
  // A configuration can list this one by its name.
  expect(pages.toSorted()).toEqual([...NAMES, 'ingest_docs'].map((name) => `${name}.md`).toSorted())
})

test('every operation that the schema of string offers is there', async () => {
  const operations = choicesOf(parameterSchema(toolOf('string').parameters, 'operation') ?? {})
  expect(operations).toHaveLength(12)
  for (const operation of operations) {
    const params = { operation, text: 'a b', search: 'a', replacement: 'c', start: 0 }
    expect(await run('string', params)).toMatchObject({ success: true, result: { result: expect.anything() } })
  }
})

test('every operation and unit that the schema of datetime offers is there', async () => {
  for (const operation of choicesOf(parameterSchema(toolOf('datetime').parameters, 'operation') ?? {})) {
    expect(await run('datetime', { operation, from: 'now', to: 'now', date: 'now' })).toMatchObject({ success: true })
  }
  for (const unit of choicesOf(parameterSchema(toolOf('datetime').parameters, 'unit') ?? {})) {
    expect(await run('datetime', { operation: 'diff', from: 'now', to: 'now', unit })).toMatchObject({
      result: { unit, value: expect.any(Number) },
    })
  }
})

test('the weather is the one of the mock', async () => {
  expect(await run('get_weather', { location: 'Paris' })).toMatchObject({
    result: { temperature: 22, condition: 'sunny', humidity: 65 },
  })
})

test('the documentation says nothing of Python decorators, and much of deadlines', async () => {
  for (const query of ['Python decorators', 'Search for Python decorators in the docs']) {
    expect(await run('search_documents', { query })).toMatchObject({ success: true, result: { results: [] } })
  }
  const { result } = (await run('search_documents', { query: 'deadline of a call' })) as {
    result: { results: object[] }
  }
  expect(result.results[0]).toMatchObject({ score: expect.any(Number), source: expect.stringMatching(/\.md$/) })
})
