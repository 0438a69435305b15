import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../config/config.ts'
import { ConfigError, loadConfigFile } from '../../config/load-config.ts'
import { deepSchema, deepText, WIDE_SCHEMAS } from '../../core/fixtures/foreign-json.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { Installation } from '../installation.ts'
import { ToolManager } from './tool-manager.ts'

const DEPTHS = [2_000, 10_000, 100_000]

const IMPLEMENTATIONS: Readonly<Record<string, string>> = {
  mock: '{"type":"mock","mock_response":1}',
  http: '{"type":"http","method":"POST","url":"http://192.0.2.1/","params_mapping":{"a":"b"}}',
  pipeline: '{"type":"pipeline","steps":[{"id":"a","tool":"good","params":{}}]}',
  agent: '{"type":"agent","model":"mini:v1","prompt":"x","tools":["good"]}',
  builtin: '{"type":"builtin","handler":"math_eval"}',
}

const definition = (name: string, parts: Readonly<Record<string, string>>) => {
  const all = {
    description: '"A tool."',
    parameters: '{"type":"object"}',
    implementation: IMPLEMENTATIONS.mock,
    ...parts,
  }
  return `{"name":"${name}",${Object.entries(all).map(([key, text]) => `"${key}":${text}`)}}`
}

/** Writes a configuration with a good tool after a bad one. */
async function write(bad: string, rest = ''): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-depth-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'toolyard.config.json')
  await writeFile(file, `{"tools":{"enabled":true,"registry":[${bad},${definition('good', {})}]}${rest}}`)
  return file
}

/** Loads a file like a server does. */
async function load(file: string) {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-depth-data-'))
  const installation = await Installation.open({ file, log: captureLog(), env: { TOOLYARD_DATA: folder } })
  onTestFinished(async () => {
    await installation.close()
    await rm(folder, { recursive: true, force: true })
  })
  const { manager } = installation
  const report = await manager.loadTools()
  expect(await manager.getExecutor().execute('good', {})).toMatchObject({ success: true })
  return { report, registry: manager.getRegistry(), executor: manager.getExecutor() }
}

describe.each(Object.entries(IMPLEMENTATIONS))('a tool of the kind %s', (_kind, implementation) => {
  test('is broken if its schema is nested too deeply, and the others run', async () => {
    const tools = DEPTHS.map((levels) =>
      definition(`bad_${levels}`, { parameters: deepSchema(levels), implementation }),
    )
    const { report, registry, executor } = await load(await write(tools.join()))
    const names = DEPTHS.map((levels) => `bad_${levels}`)
    expect(report).toMatchObject({ loaded: [...names, 'good'], skipped: [], warnings: [] })
    for (const name of names) {
      expect(registry.brokenReason(name)).toBe('nested deeper than 32 levels')
      expect(await executor.execute(name, {})).toMatchObject({ success: false, error_code: 'EXECUTION_ERROR' })
    }
  })

  test('is broken if its schema has 1 MB, and the others run', async () => {
    const tools = Object.values(WIDE_SCHEMAS).map((parameters, at) =>
      definition(`bad_${at}`, { parameters, implementation }),
    )
    const { report, registry } = await load(await write(tools.join()))
    const names = tools.map((_, at) => `bad_${at}`)
    expect(report).toMatchObject({ loaded: [...names, 'good'], skipped: [], warnings: [] })
    for (const name of names) expect(registry.brokenReason(name)).toMatch(/^(?:longer than|has more than) /)
  })
})

test.each(['implementation', 'approval', 'migrate', 'cost', 'x-note', 'name'])(
  'skips a tool whose %s is nested too deeply, and says where',
  async (key) => {
    for (const levels of DEPTHS) {
      const { report } = await load(await write(definition('bad', { [key]: deepText(levels) })))
      expect(report.loaded).toEqual(['good'])
      expect(report.skipped[0]?.problem).toMatch(
        new RegExp(`^${key}\\.a\\.a\\..*… is nested deeper than 512 levels: flatten it$`),
      )
    }
  },
)

test('skips tools of an included file that are nested too deeply', async () => {
  const file = await write('{"include":"more.json"}')
  const mock = `{"type":"mock","mock_response":${deepText(10_000)}}`
  const tools = [definition('deep', { implementation: mock }), definition('bad', { parameters: deepSchema(10_000) })]
  await writeFile(file.replace(/[^/]*$/, 'more.json'), `[${tools}]`)
  const { report, registry } = await load(file)
  expect(report.loaded).toEqual(['bad', 'good'])
  expect(report.skipped).toMatchObject([{ name: 'deep' }])
  expect(registry.brokenReason('bad')).toBe('nested deeper than 32 levels')
})

test('loads a mock response of 500 levels unchanged', async () => {
  const mock = `{"type":"mock","mock_response":${deepText(500)}}`
  const { executor } = await load(await write(definition('deep', { implementation: mock })))
  expect(await executor.execute('deep', {})).toMatchObject({ success: true, result: JSON.parse(deepText(500)) })
})

test.each([
  ['"mcpServers":{"a":{"command":"x","x":@}}', 'mcpServers.a.x.a.a'],
  ['"models":[@]', 'models[0].a.a'],
  ['"providers":{"a":{"headers":@}}', 'providers.a.headers.a.a'],
  ['"knowledge":@', 'knowledge.a.a'],
])('refuses a configuration with deep JSON outside the tools: %s', async (rest, path) => {
  for (const levels of DEPTHS) {
    const file = await write(definition('a', {}), `,${rest.replace('@', deepText(levels))}`)
    const error = await loadConfigFile(file).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ConfigError)
    expect((error as Error).message).toContain(`: ${path}`)
    expect((error as Error).message).toContain('is nested deeper than 512 levels: flatten it.')
  }
})

test('loads the other tools of a configuration in code', async () => {
  const bad = JSON.parse(definition('bad', { parameters: deepSchema(10_000) }))
  const deep = JSON.parse(definition('deep', { implementation: `{"type":"mock","mock_response":${deepText(10_000)}}` }))
  const config = { tools: { enabled: true, registry: [bad, deep, JSON.parse(definition('good', {}))] } }
  const manager = new ToolManager(config as Config, { log: captureLog() })
  onTestFinished(() => manager.close())
  expect(await manager.loadTools()).toMatchObject({ loaded: ['bad', 'good'], skipped: [{ name: 'deep' }] })
})

test('loads pipelines that call each other in a long row', async () => {
  const names = Array.from({ length: 3_000 }, (_, index) => `p${index}`)
  const registry = names.map((name, index) =>
    JSON.parse(
      definition(name, {
        implementation: `{"type":"pipeline","steps":[{"id":"a","tool":"${names[index + 1] ?? 'good'}","params":{}}]}`,
      }),
    ),
  )
  registry.push(JSON.parse(definition('good', {})))
  const manager = new ToolManager({ tools: { enabled: true, registry } } as Config, { log: captureLog() })
  onTestFinished(() => manager.close())
  expect((await manager.loadTools()).loaded).toHaveLength(3_001)
  expect(manager.getRegistry().brokenReason('p0')).toBeUndefined()
  expect(manager.getExecutor().effectOf('p0')).toBe('read')
})
