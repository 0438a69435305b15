import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ToolManager } from '../src/app/tools/tool-manager.ts'
import { openManager, shippedConfig } from '../src/cli/common/open.ts'
import { choicesOf, parameterSchema } from '../src/cli/common/params.ts'
import { captureTerminal, emptyFolder, toolyard } from '../src/cli/fixtures/toolyard.ts'
import type { ToolDefinition } from '../src/core/tool.ts'
import { readStream } from '../src/testing/model-contract.ts'
import { ProcessReader } from './setup/recorded-reader.ts'

const NAMES = [
  'get_weather',
  'calculate',
  'echo',
  'datetime',
  'string',
  'set_light',
  'search_documents',
  'summarize',
  'extract_entities',
  'classify_intent',
  'tag_chunk_docs',
  'ingest_docs',
]
const page = (name: string) => readFile(new URL(`../docs/reference/tools/${name}.md`, import.meta.url), 'utf8')

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

/** How a page begins its contract. */
function contractLine(name: string): string {
  const { implementation, timeout_ms = manager.getDefaultTimeout() } = toolOf(name)
  const { type, handler } = implementation ?? { type: '' }
  const by = handler === undefined ? '' : `, handler \`${handler}\``
  return `Kind \`${type}\`${by}, effect \`${manager.getExecutor().effectOf(name)}\`, deadline ${timeout_ms / 1000} s.`
}

/** The table of the parameters, as their definition says. */
function parameterTable(name: string): string {
  const { properties = {}, required = [] } = toolOf(name).parameters as {
    readonly properties?: Record<string, Record<string, unknown>>
    readonly required?: readonly string[]
  }
  const rows = Object.entries(properties).map(([parameter, schema]) => {
    const fallback = schema.default === undefined ? '' : [schema.default].flat().map(code).join(', ')
    const given = required.includes(parameter) ? 'required' : fallback
    return `| \`${parameter}\` | ${typeWords(schema)} | ${given} | ${schema.description} |`
  })
  return ['| name | type | default | |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

const code = (value: unknown): string => `\`${value}\``

function typeWords({ type, enum: choices, items, ...limits }: Record<string, unknown>): string {
  if (Array.isArray(choices)) return choices.map(code).join(', ')
  if (type === 'array') return `list of ${limits.minItems} to ${limits.maxItems} ${Object(items).type}s`
  if (type === 'object') return 'object of strings'
  const [least, most] = type === 'string' ? [limits.minLength, limits.maxLength] : [limits.minimum, limits.maximum]
  const unit = type === 'string' ? ' characters' : ''
  if (most !== undefined)
    return least === undefined ? `${type}, at most ${most}${unit}` : `${type}, ${least} to ${most}${unit}`
  return least === undefined ? String(type) : `${type}, at least ${least}${unit}`
}

describe.each(NAMES)('%s', (name) => {
  test('S9 its page has its kind, effect and deadline, its parameters as they are defined, and every section', async () => {
    const text = await page(name)
    expect(text.split('\n').find((line) => line.startsWith('Kind '))).toContain(contractLine(name))
    expect(text.slice(text.indexOf('| name |')).split('\n\n')[0]).toBe(parameterTable(name))
    const sections = text.match(/^## (?:Parameters|Result|Fallback|Errors|Examples?)$/gm)
    expect(sections?.map((line) => line.replace(/^## |s$/g, ''))).toEqual([
      'Parameter',
      'Result',
      'Fallback',
      'Error',
      'Example',
    ])
  })

  test('the examples of its page work as they stand', async () => {
    const examples = (await page(name)).match(/^toolyard .*$/gm) ?? []
    expect(examples.length).toBeGreaterThan(0)
    for (const words of await shellWords(examples)) expect(await toolyard(words)).toMatchObject({ code: 0 })
  })
})

test('there is no page of a tool that does not ship', async () => {
  const pages = await readdir(new URL('../docs/reference/tools/', import.meta.url))
  expect(pages.toSorted()).toEqual(NAMES.map((name) => `${name}.md`).toSorted())
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

test('U12 the weather of the mock is in the unit that was asked for', async () => {
  const rest = { condition: 'sunny', humidity: 65 }
  for (const [params, temperature] of [
    [{}, 22],
    [{ units: 'celsius' }, 22],
    [{ units: 'fahrenheit' }, 72],
  ] as const) {
    expect(await run('get_weather', { location: 'Paris', ...params })).toMatchObject({
      result: { temperature, ...rest },
    })
  }
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

test.each<[string, string, object]>([
  ["What's the weather in Paris?", 'get_weather', { location: 'Paris' }],
  ['Calculate 15% tip on $45', 'calculate', { expression: '45 * 0.15' }],
  ['Search for Python decorators in the docs', 'search_documents', { query: 'Python decorators' }],
  ['how hot is it in Cairo right now?', 'get_weather', { location: 'Cairo' }],
  ['remind me what the docs say about error codes', 'search_documents', { query: 'error codes' }],
  ["What's the date today?", 'datetime', { operation: 'now' }],
  ['what time is it in Tokyo?', 'datetime', { operation: 'now', timezone: 'Asia/Tokyo' }],
  [
    'how many days between 2026-01-01 and 2026-03-01',
    'datetime',
    { operation: 'diff', from: '2026-01-01', to: '2026-03-01', unit: 'days' },
  ],
  ["How many r's are in strawberry?", 'string', { operation: 'count', text: 'strawberry', search: 'r' }],
  ['reverse hello', 'string', { operation: 'reverse', text: 'hello' }],
  [
    "replace 'cat' with 'dog' in 'the cat sat'",
    'string',
    { operation: 'replace', text: 'the cat sat', search: 'cat', replacement: 'dog' },
  ],
  ['convert 5 miles to km', 'calculate', { expression: '5 mi to km' }],
  ['how do I add a tool?', 'search_documents', { query: 'how do I add a tool' }],
  ['echo testing 1 2 3', 'echo', { text: 'testing 1 2 3' }],
  [
    'Summarize: Cats are animals. Dogs are animals too.',
    'summarize',
    { text: 'Cats are animals. Dogs are animals too.' },
  ],
  [
    'Summarize: Toolyard runs tools. Models call them. Please give it back.',
    'summarize',
    { text: 'Toolyard runs tools. Models call them. Please give it back.' },
  ],
  ['which entities are in "Tim Cook visited Berlin"', 'extract_entities', { text: 'Tim Cook visited Berlin' }],
  ['what is the intent of "please cancel my order"', 'classify_intent', { text: 'please cancel my order' }],
  [
    'tag this document: Cats and dogs are pets. Pets eat.',
    'tag_chunk_docs',
    { content: 'Cats and dogs are pets. Pets eat.' },
  ],
  [
    'ingest the text "Money comes back within a week" into the collection shop',
    'ingest_docs',
    { content: 'Money comes back within a week', collection: 'shop' },
  ],
])('S1 mini chooses among the tools that ship: %s', async (said, name, params) => {
  const model = (await manager.getModels()).get('mini:v1')
  const tools = manager.getRegistry().definitions()
  const { calls } = await readStream(model, { messages: [{ role: 'user', content: said }], tools })
  expect(calls.map(({ function: call }) => [call.name, JSON.parse(call.arguments)])).toEqual([[name, params]])
})

test('a server asks mini a question before the first one arrives', async () => {
  const read = vi.spyOn(ProcessReader.prototype, 'read')
  onTestFinished(() => read.mockRestore())
  await manager.warm()
  expect(read).toHaveBeenCalled()
})
